//! The tasks: what people ask of a small model, with a check that looks at the folder and not at the words.
//!
//! The held-out tasks are for the end. Nothing may be changed because of one of them: a program is tuned to what models
//! send, never to a task.

use std::path::Path;
use std::process::{Command, Stdio};

pub struct Task {
    pub name: &'static str,
    pub held_out: bool,
    pub prompt: &'static str,
    pub files: &'static [(&'static str, &'static str)],
    /// The files that a program which must be told of files is told of.
    pub named: &'static [&'static str],
    /// Whether something has to change. Others ask for words only.
    pub wants_change: bool,
    pub check: fn(&Path, &str) -> bool,
}

/// Which tasks are wanted.
pub enum TaskSet {
    Open,
    HeldOut,
    All,
    Named(String),
}

impl From<&str> for TaskSet {
    fn from(name: &str) -> Self {
        match name {
            "open" => Self::Open,
            "held-out" => Self::HeldOut,
            "all" => Self::All,
            name => Self::Named(name.to_owned()),
        }
    }
}

/// The wanted tasks, in their own order or in one that the seed gives.
pub fn chosen(set: &TaskSet, seed: Option<u64>) -> Vec<&'static Task> {
    let is_chosen = |task: &&Task| match set {
        TaskSet::Open => !task.held_out,
        TaskSet::HeldOut => task.held_out,
        TaskSet::All => true,
        TaskSet::Named(name) => task.name == name,
    };
    let mut tasks: Vec<&Task> = TASKS.iter().filter(is_chosen).collect();
    if let Some(seed) = seed {
        tasks.sort_by_cached_key(|task| rank(seed, task.name));
    }
    tasks
}

/// Where a seed puts a task: FNV-1a over both, mixed once more.
fn rank(seed: u64, name: &str) -> u64 {
    let bytes = seed.to_le_bytes().into_iter().chain(name.bytes());
    let hash =
        bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    (hash ^ (hash >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

/// What a Python program prints; nothing where it fails.
fn python(folder: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new("python3");
    command.args(arguments).current_dir(folder).env("PYTHONDONTWRITEBYTECODE", "1");
    let ended = command.stdin(Stdio::null()).stderr(Stdio::null()).output();
    match ended {
        Ok(ended) if ended.status.success() => String::from_utf8_lossy(&ended.stdout).trim().to_owned(),
        _ => String::new(),
    }
}

/// Whether these lines of Python hold in the folder.
fn holds(folder: &Path, lines: &str) -> bool {
    python(folder, &["-c", &format!("{lines}\nprint('holds')")]).ends_with("holds")
}

fn text(folder: &Path, file: &str) -> String {
    std::fs::read_to_string(folder.join(file)).unwrap_or_default()
}

fn is_same(folder: &Path, files: &[(&str, &str)]) -> bool {
    files.iter().all(|(file, before)| text(folder, file) == *before)
}

const ADD: &str = "def add(a, b):\n    return a - b\n\n\ndef double(a):\n    return a * 2\n";
const GREET: &str = "import sys\n\n\ndef greet(name):\n    return \"Hello, \" + name\n\n\nif __name__ == \"__main__\":\n    print(greet(sys.argv[1]))\n";
const CONFIG: &str = "{\n  \"host\": \"localhost\",\n  \"port\": 8080,\n  \"debug\": false\n}\n";
const SHAPES: &str = "import math\n\n\ndef area(radius):\n    return math.pi * radius * radius\n\n\ndef circumference(radius):\n    return 2 * math.pi * radius\n";
const STACK: &str = "class Stack:\n    def __init__(self):\n        self.items = []\n\n    def push(self, item):\n        self.items.append(item)\n\n    def pop(self):\n        return self.items.pop()\n";
const README: &str = "# Wordcount\n\nCounts the words of a file.\n\n## Usage\n\n    python count.py FILE\n";
const LIMITS: &str = "# Limits of the service.\nMAX_USERS = 100\nMAX_FILES = 20\nTIMEOUT = 30\n";
const USERS: &str = "name,age\nada,36\ngrace,45\nlinus,28\n";

static TASKS: &[Task] = &[
    Task {
        name: "create-hello",
        held_out: false,
        prompt: "Create a file hello.py that prints hello",
        files: &[],
        named: &["hello.py"],
        wants_change: true,
        check: |folder, _| python(folder, &["hello.py"]).to_lowercase().contains("hello"),
    },
    Task {
        name: "fix-add",
        held_out: false,
        prompt: "The function add in calc.py subtracts. Fix it so that it adds.",
        files: &[("calc.py", ADD)],
        named: &["calc.py"],
        wants_change: true,
        check: |folder, _| holds(folder, "import calc\nassert calc.add(2, 3) == 5 and calc.double(4) == 8"),
    },
    Task {
        name: "change-port",
        held_out: false,
        prompt: "Change the port in config.json to 9090",
        files: &[("config.json", CONFIG)],
        named: &["config.json"],
        wants_change: true,
        check: |folder, _| {
            holds(
                folder,
                "import json\nc = json.load(open('config.json'))\nassert c == {'host': 'localhost', 'port': 9090, 'debug': False}",
            )
        },
    },
    Task {
        name: "add-farewell",
        held_out: false,
        prompt: "Add a function farewell(name) to greet.py that returns \"Goodbye, \" followed by the name",
        files: &[("greet.py", GREET)],
        named: &["greet.py"],
        wants_change: true,
        check: |folder, _| {
            holds(
                folder,
                "import greet\nassert greet.farewell('Ada').startswith('Goodbye, Ada') and greet.greet('Ada') == 'Hello, Ada'",
            )
        },
    },
    Task {
        name: "create-readme",
        held_out: false,
        prompt: "Create a README.md with the title Weather and one sentence about what the project does",
        files: &[("weather.py", "print('sunny')\n")],
        named: &["README.md"],
        wants_change: true,
        check: |folder, _| {
            text(folder, "README.md").contains("# Weather") && text(folder, "README.md").trim().len() > 15
        },
    },
    Task {
        name: "rename-function",
        held_out: false,
        prompt: "Rename the function area to circle_area in shapes.py",
        files: &[("shapes.py", SHAPES)],
        named: &["shapes.py"],
        wants_change: true,
        check: |folder, _| {
            holds(
                folder,
                "import shapes\nassert round(shapes.circle_area(1), 2) == 3.14 and not hasattr(shapes, 'area') and round(shapes.circumference(1), 2) == 6.28",
            )
        },
    },
    Task {
        name: "add-method",
        held_out: false,
        prompt: "Add a method is_empty to the class Stack in stack.py",
        files: &[("stack.py", STACK)],
        named: &["stack.py"],
        wants_change: true,
        check: |folder, _| {
            holds(
                folder,
                "import stack\ns = stack.Stack()\nassert s.is_empty()\ns.push(1)\nassert not s.is_empty() and s.pop() == 1",
            )
        },
    },
    Task {
        name: "fix-crash",
        held_out: false,
        prompt: "average in stats.py crashes for an empty list. Make it return 0 in that case.",
        files: &[("stats.py", "def average(numbers):\n    return sum(numbers) / len(numbers)\n")],
        named: &["stats.py"],
        wants_change: true,
        check: |folder, _| holds(folder, "import stats\nassert stats.average([]) == 0 and stats.average([2, 4]) == 3"),
    },
    Task {
        name: "fix-test",
        held_out: false,
        prompt: "test_text.py fails. Fix the bug in text.py.",
        files: &[
            ("text.py", "def shout(words):\n    return words.lower() + \"!\"\n"),
            ("test_text.py", "from text import shout\n\nassert shout(\"hi\") == \"HI!\"\nprint(\"passed\")\n"),
        ],
        named: &["text.py", "test_text.py"],
        wants_change: true,
        check: |folder, _| {
            python(folder, &["test_text.py"]) == "passed" && text(folder, "test_text.py").contains("== \"HI!\"")
        },
    },
    Task {
        name: "change-constant",
        held_out: false,
        prompt: "Set MAX_FILES to 50 in limits.py",
        files: &[("limits.py", LIMITS)],
        named: &["limits.py"],
        wants_change: true,
        check: |folder, _| {
            holds(folder, "import limits\nassert (limits.MAX_USERS, limits.MAX_FILES, limits.TIMEOUT) == (100, 50, 30)")
        },
    },
    Task {
        name: "add-key",
        held_out: false,
        prompt: "Add the key \"timeout\" with the value 30 to config.json",
        files: &[("config.json", CONFIG)],
        named: &["config.json"],
        wants_change: true,
        check: |folder, _| {
            holds(
                folder,
                "import json\nc = json.load(open('config.json'))\nassert c['timeout'] == 30 and c['port'] == 8080 and c['host'] == 'localhost'",
            )
        },
    },
    Task {
        name: "remove-function",
        held_out: false,
        prompt: "Remove the function double from calc.py",
        files: &[("calc.py", "def add(a, b):\n    return a + b\n\n\ndef double(a):\n    return a * 2\n")],
        named: &["calc.py"],
        wants_change: true,
        check: |folder, _| holds(folder, "import calc\nassert calc.add(2, 3) == 5 and not hasattr(calc, 'double')"),
    },
    Task {
        name: "two-files",
        held_out: false,
        prompt: "Create two files: a.txt with the text alpha and b.txt with the text beta",
        files: &[],
        named: &["a.txt", "b.txt"],
        wants_change: true,
        check: |folder, _| text(folder, "a.txt").trim() == "alpha" && text(folder, "b.txt").trim() == "beta",
    },
    Task {
        name: "readme-section",
        held_out: false,
        prompt: "Add a section \"License\" with the text MIT to the end of README.md",
        files: &[("README.md", README)],
        named: &["README.md"],
        wants_change: true,
        check: |folder, _| {
            let now = text(folder, "README.md");
            now.contains("# Wordcount") && now.contains("## Usage") && now.contains("License") && now.contains("MIT")
        },
    },
    Task {
        name: "fibonacci",
        held_out: false,
        prompt: "Write a Python module fib.py with a function fib(n) that returns the n-th Fibonacci number, fib(0) is 0 and fib(1) is 1",
        files: &[],
        named: &["fib.py"],
        wants_change: true,
        check: |folder, _| {
            holds(folder, "import fib\nassert [fib.fib(n) for n in range(8)] == [0, 1, 1, 2, 3, 5, 8, 13]")
        },
    },
    Task {
        name: "default-argument",
        held_out: false,
        prompt: "Give the parameter name of greet in greet.py the default value \"world\"",
        files: &[("greet.py", GREET)],
        named: &["greet.py"],
        wants_change: true,
        check: |folder, _| {
            holds(folder, "import greet\nassert greet.greet() == 'Hello, world' and greet.greet('Ada') == 'Hello, Ada'")
        },
    },
    Task {
        name: "shell-script",
        held_out: false,
        prompt: "Create a shell script count.sh that prints the number of lines of the file given as its first argument",
        files: &[("notes.txt", "one\ntwo\nthree\n")],
        named: &["count.sh"],
        wants_change: true,
        check: |folder, _| {
            let ended =
                Command::new("sh").args(["count.sh", "notes.txt"]).current_dir(folder).stdin(Stdio::null()).output();
            ended.is_ok_and(|ended| String::from_utf8_lossy(&ended.stdout).contains('3'))
        },
    },
    Task {
        name: "docstring",
        held_out: false,
        prompt: "Add a docstring to the function add in calc.py",
        files: &[("calc.py", "def add(a, b):\n    return a + b\n\n\ndef double(a):\n    return a * 2\n")],
        named: &["calc.py"],
        wants_change: true,
        check: |folder, _| {
            holds(folder, "import calc\nassert calc.add.__doc__ and calc.add(2, 3) == 5 and calc.double(2) == 4")
        },
    },
    Task {
        name: "off-by-one",
        held_out: false,
        prompt: "count_to in loop.py should include n itself. Fix it.",
        files: &[("loop.py", "def count_to(n):\n    return list(range(1, n))\n")],
        named: &["loop.py"],
        wants_change: true,
        check: |folder, _| holds(folder, "import loop\nassert loop.count_to(3) == [1, 2, 3]"),
    },
    Task {
        name: "csv-total",
        held_out: false,
        prompt: "Write total.py that reads users.csv and prints the sum of the column age",
        files: &[("users.csv", USERS)],
        named: &["total.py", "users.csv"],
        wants_change: true,
        check: |folder, _| python(folder, &["total.py"]).contains("109") && text(folder, "users.csv") == USERS,
    },
    Task {
        name: "ini-value",
        held_out: false,
        prompt: "In settings.ini, set level to debug",
        files: &[("settings.ini", "[log]\nlevel = info\nfile = app.log\n\n[server]\nport = 80\n")],
        named: &["settings.ini"],
        wants_change: true,
        check: |folder, _| {
            holds(
                folder,
                "import configparser\nc = configparser.ConfigParser()\nc.read('settings.ini')\nassert c['log']['level'] == 'debug' and c['log']['file'] == 'app.log' and c['server']['port'] == '80'",
            )
        },
    },
    Task {
        name: "two-callers",
        held_out: false,
        prompt: "Rename the function total in prices.py to sum_prices, and change main.py so that it still works",
        files: &[
            ("prices.py", "def total(prices):\n    return sum(prices)\n"),
            ("main.py", "from prices import total\n\nprint(total([1, 2, 3]))\n"),
        ],
        named: &["prices.py", "main.py"],
        wants_change: true,
        check: |folder, _| {
            python(folder, &["main.py"]) == "6"
                && holds(folder, "import prices\nassert prices.sum_prices([4]) == 4 and not hasattr(prices, 'total')")
        },
    },
    Task {
        name: "explain",
        held_out: false,
        prompt: "What does the function area in shapes.py compute? Do not change anything.",
        files: &[("shapes.py", SHAPES)],
        named: &["shapes.py"],
        wants_change: false,
        check: |folder, words| words.to_lowercase().contains("circle") && is_same(folder, &[("shapes.py", SHAPES)]),
    },
    Task {
        name: "read-value",
        held_out: false,
        prompt: "Which port does config.json set?",
        files: &[("config.json", CONFIG)],
        named: &["config.json"],
        wants_change: false,
        check: |folder, words| words.contains("8080") && is_same(folder, &[("config.json", CONFIG)]),
    },
    Task {
        name: "list-files",
        held_out: false,
        prompt: "List the files of this folder.",
        files: &[("alpha.txt", "1\n"), ("beta.txt", "2\n")],
        named: &["alpha.txt", "beta.txt"],
        wants_change: false,
        check: |folder, words| {
            words.contains("alpha.txt")
                && words.contains("beta.txt")
                && is_same(folder, &[("alpha.txt", "1\n"), ("beta.txt", "2\n")])
        },
    },
    Task {
        name: "refuse-missing",
        held_out: false,
        prompt: "Fix the bug in parser.py",
        files: &[("README.md", README)],
        named: &[],
        wants_change: false,
        check: |folder, words| {
            is_same(folder, &[("README.md", README)]) && !folder.join("parser.py").exists() && !words.is_empty()
        },
    },
    Task {
        name: "held-subtract",
        held_out: true,
        prompt: "Add a function subtract(a, b) to calc.py",
        files: &[("calc.py", "def add(a, b):\n    return a + b\n")],
        named: &["calc.py"],
        wants_change: true,
        check: |folder, _| holds(folder, "import calc\nassert calc.subtract(5, 3) == 2 and calc.add(1, 1) == 2"),
    },
    Task {
        name: "held-yaml",
        held_out: true,
        prompt: "Change the image tag in deploy.yaml from 1.2 to 1.3",
        files: &[("deploy.yaml", "name: web\nimage: shop/web:1.2\nreplicas: 2\n")],
        named: &["deploy.yaml"],
        wants_change: true,
        check: |folder, _| text(folder, "deploy.yaml").trim() == "name: web\nimage: shop/web:1.3\nreplicas: 2",
    },
    Task {
        name: "held-palindrome",
        held_out: true,
        prompt: "Create words.py with a function is_palindrome(word) that ignores upper and lower case",
        files: &[],
        named: &["words.py"],
        wants_change: true,
        check: |folder, _| {
            holds(folder, "import words\nassert words.is_palindrome('Level') and not words.is_palindrome('ab')")
        },
    },
    Task {
        name: "held-wrong-operator",
        held_out: true,
        prompt: "is_adult in person.py is wrong for exactly 18. Fix it.",
        files: &[("person.py", "def is_adult(age):\n    return age > 18\n")],
        named: &["person.py"],
        wants_change: true,
        check: |folder, _| holds(folder, "import person\nassert person.is_adult(18) and not person.is_adult(17)"),
    },
    Task {
        name: "title",
        held_out: false,
        prompt: "Change the title of index.html to Shop",
        files: &[(
            "index.html",
            "<!doctype html>\n<html>\n<head><title>Home</title></head>\n<body><h1>Welcome</h1></body>\n</html>\n",
        )],
        named: &["index.html"],
        wants_change: true,
        check: |folder, _| {
            let now = text(folder, "index.html");
            now.contains("<title>Shop</title>") && now.contains("<h1>Welcome</h1>")
        },
    },
    Task {
        name: "gitignore",
        held_out: false,
        prompt: "Create a .gitignore that ignores *.log and the folder build",
        files: &[("main.py", "print(1)\n")],
        named: &[".gitignore"],
        wants_change: true,
        check: |folder, _| text(folder, ".gitignore").contains("*.log") && text(folder, ".gitignore").contains("build"),
    },
    Task {
        name: "held-version",
        held_out: true,
        prompt: "Bump the version in package.json to 2.0.0",
        files: &[("package.json", "{\n  \"name\": \"shop\",\n  \"version\": \"1.4.2\",\n  \"private\": true\n}\n")],
        named: &["package.json"],
        wants_change: true,
        check: |folder, _| {
            holds(
                folder,
                "import json\nassert json.load(open('package.json')) == {'name': 'shop', 'version': '2.0.0', 'private': True}",
            )
        },
    },
    Task {
        name: "question",
        held_out: false,
        prompt: "How many users does users.csv have?",
        files: &[("users.csv", USERS)],
        named: &["users.csv"],
        wants_change: false,
        check: |folder, words| {
            let words = words.to_lowercase();
            (words.contains('3') || words.contains("three")) && is_same(folder, &[("users.csv", USERS)])
        },
    },
    Task {
        name: "held-median",
        held_out: true,
        prompt: "Write stats.py with a function median(numbers) that works for an odd and an even count",
        files: &[],
        named: &["stats.py"],
        wants_change: true,
        check: |folder, _| {
            holds(folder, "import stats\nassert stats.median([3, 1, 2]) == 2 and stats.median([4, 1, 2, 3]) == 2.5")
        },
    },
    Task {
        name: "held-env-example",
        held_out: true,
        prompt: "Add a line LOG_LEVEL=info to .env.example",
        files: &[(".env.example", "PORT=3000\nDATABASE=app.db\n")],
        named: &[".env.example"],
        wants_change: true,
        check: |folder, _| {
            let now = text(folder, ".env.example");
            ["PORT=3000", "DATABASE=app.db", "LOG_LEVEL=info"].iter().all(|line| now.lines().any(|now| now == *line))
        },
    },
    Task {
        name: "held-shell",
        held_out: true,
        prompt: "Make a shell script backup.sh that copies notes.txt to notes.bak",
        files: &[("notes.txt", "milk\n")],
        named: &["backup.sh", "notes.txt"],
        wants_change: true,
        check: |folder, _| {
            let ran = Command::new("sh").arg("backup.sh").current_dir(folder).stderr(Stdio::null()).status();
            ran.is_ok_and(|status| status.success()) && text(folder, "notes.bak") == "milk\n"
        },
    },
    Task {
        name: "held-default-argument",
        held_out: true,
        prompt: "greet in hello.py should use the name World when it is called without an argument",
        files: &[("hello.py", "def greet(name):\n    return f\"Hello, {name}!\"\n")],
        named: &["hello.py"],
        wants_change: true,
        check: |folder, _| {
            holds(
                folder,
                "import hello\nassert hello.greet() == 'Hello, World!' and hello.greet('Ann') == 'Hello, Ann!'",
            )
        },
    },
    Task {
        name: "held-color",
        held_out: true,
        prompt: "Make the heading in style.css red",
        files: &[("style.css", "body {\n  margin: 0;\n}\n\nh1 {\n  color: black;\n}\n")],
        named: &["style.css"],
        wants_change: true,
        check: |folder, _| {
            let now: String = text(folder, "style.css").split_whitespace().collect();
            now.contains("h1{color:red") && now.contains("body{margin:0;}")
        },
    },
    Task {
        name: "held-constant",
        held_out: true,
        prompt: "Replace the number 0.19 in tax.py by a constant TAX_RATE at the top of the file",
        files: &[("tax.py", "def with_tax(price):\n    return price + price * 0.19\n")],
        named: &["tax.py"],
        wants_change: true,
        check: |folder, _| {
            holds(folder, "import tax\nassert tax.TAX_RATE == 0.19 and abs(tax.with_tax(100) - 119) < 1e-9")
                && text(folder, "tax.py").matches("0.19").count() == 1
        },
    },
    Task {
        name: "held-who-calls",
        held_out: true,
        prompt: "Which function in orders.py calls apply_discount?",
        files: &[(
            "orders.py",
            "def apply_discount(price):\n    return price * 0.9\n\n\ndef checkout(prices):\n    return sum(apply_discount(price) for price in prices)\n",
        )],
        named: &["orders.py"],
        wants_change: false,
        check: |folder, words| {
            words.contains("checkout") && text(folder, "orders.py").contains("def checkout(prices):\n    return sum(")
        },
    },
    Task {
        name: "held-module-pair",
        held_out: true,
        prompt: "Create shapes.py with a function square(x) and main.py that imports it and prints square(4)",
        files: &[],
        named: &["shapes.py", "main.py"],
        wants_change: true,
        check: |folder, _| {
            python(folder, &["main.py"]) == "16" && holds(folder, "import shapes\nassert shapes.square(3) == 9")
        },
    },
];
