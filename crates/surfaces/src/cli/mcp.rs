//! `trimtab mcp`: lists, adds, approves, and checks MCP servers.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::{Map, Value, json};
use trimtab_host::config::{self, NewServer, Profile};
use trimtab_host::{CheckedServer, Client, LoginState, PlacedServer, ServerSource, ServerStanding};
use trimtab_vocab::event::Status;
use trimtab_vocab::format;
use trimtab_vocab::{Problem, ProblemKind, ServerResource};

use super::mcp_login::{self, LoginWishes};
use super::output::{self, note, print, print_json};
use super::{CliOutcome, approval, mcp_serve, place};
use crate::words;

const EXAMPLES: &str = "\
Examples:
  trimtab mcp                                              list the servers
  trimtab mcp add github --env GITHUB_TOKEN -- github-mcp-server stdio
  trimtab mcp add docs https://example.org/mcp             add an HTTP server
  trimtab mcp login docs                                   log in to a server that needs it
  trimtab mcp enable github                                show a server from .mcp.json and approve it
  trimtab rules add allow mcp \"github:list_issues\"         call a tool without asking";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct McpArgs {
    #[command(subcommand)]
    command: Option<McpCommand>,
    /// Use this folder and its .mcp.json [default: the current one]
    #[arg(long, global = true, value_name = "FOLDER")]
    dir: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum McpCommand {
    /// List the servers in your settings and in this folder's .mcp.json
    List {
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
    },
    /// Add a server to your settings
    Add {
        /// Name of the server
        name: String,
        /// Pass this environment variable to the server (repeatable)
        #[arg(long, value_name = "NAME")]
        env: Vec<String>,
        /// Send this HTTP header, with `$NAME` for a variable (repeatable)
        #[arg(long, value_name = "NAME: VALUE")]
        header: Vec<String>,
        /// Run tools that the server marks as read-only without asking
        #[arg(long)]
        trust_annotations: bool,
        /// Address, or `--` and a command with its arguments
        #[arg(required = true, value_name = "URL|COMMAND")]
        target: Vec<String>,
    },
    /// Remove a server from your settings
    Remove {
        /// Name of the server
        name: String,
    },
    /// Enable a server, or show a server from .mcp.json and approve it
    Enable {
        /// Name of the server
        name: String,
        /// Approve without asking
        #[arg(long)]
        yes: bool,
    },
    /// Stop using a server
    Disable {
        /// Name of the server
        name: String,
    },
    /// Log in to a server over HTTP with your browser
    Login {
        /// Name of the server
        name: String,
        /// Allow the login to use this host without asking (repeatable)
        #[arg(long, value_name = "HOST")]
        at: Vec<String>,
        /// Ask for this scope (repeatable) [default: the server's choice]
        #[arg(long, value_name = "SCOPE")]
        scope: Vec<String>,
        /// Open the address in your browser
        #[arg(long)]
        open: bool,
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
    },
    /// Log out of a server and remove its tokens
    Logout {
        /// Name of the server
        name: String,
    },
    /// Connect to the servers and list their tools
    Tools {
        /// Name of the server [default: all]
        name: Option<String>,
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
    },
    /// Connect to the servers and list their resources
    Resources {
        /// Name of the server [default: all]
        name: Option<String>,
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
    },
    /// Read a resource and print it
    Read {
        /// Name of the server
        name: String,
        /// Address of the resource
        uri: String,
    },
    /// Connect to the servers and list their prompts
    Prompts {
        /// Name of the server [default: all]
        name: Option<String>,
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
    },
    /// Call a tool and print its result
    Call {
        /// Name of the server
        name: String,
        /// Name of the tool
        tool: String,
        /// Arguments as a JSON object
        #[arg(default_value = "{}")]
        input: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Connect to the servers and look for problems
    Doctor,
    /// Serve other agents as an MCP server on standard input and output
    Serve,
}

impl McpArgs {
    pub(super) async fn execute(self) -> Result<CliOutcome, Problem> {
        let (profile, client) = place::open(&[])?;
        let client = client.on("cli");
        let folder = place::folder(self.dir.as_deref())?;
        let setup = Setup { profile, client, folder };
        match self.command.unwrap_or(McpCommand::List { json: false }) {
            McpCommand::List { json } => setup.list(json).await,
            McpCommand::Add { name, env, header, trust_annotations, target } => {
                setup.add(name, env, &header, trust_annotations, target)
            }
            McpCommand::Remove { name } => setup.remove(&name).await,
            McpCommand::Enable { name, yes } => setup.enable(&name, yes).await,
            McpCommand::Disable { name } => setup.disable(&name).await,
            McpCommand::Login { name, at, scope, open, json } => {
                mcp_login::login(&setup.client, &setup.find(&name).await?, LoginWishes { at, scope, open, json }).await
            }
            McpCommand::Logout { name } => mcp_login::logout(&setup.client, &setup.find(&name).await?).await,
            McpCommand::Tools { name, json } => setup.tools(name.as_deref(), json).await,
            McpCommand::Resources { name, json } => setup.resources(name.as_deref(), json).await,
            McpCommand::Read { name, uri } => setup.read(&name, &uri).await,
            McpCommand::Prompts { name, json } => setup.prompts(name.as_deref(), json).await,
            McpCommand::Call { name, tool, input, json } => setup.call(&name, &tool, &input, json).await,
            McpCommand::Doctor => setup.check().await,
            McpCommand::Serve => mcp_serve::serve(setup.profile, setup.client.on("mcp"), setup.folder).await,
        }
    }
}

struct Setup {
    profile: Profile,
    client: Client,
    folder: String,
}

impl Setup {
    async fn servers(&self) -> Result<(Vec<PlacedServer>, Vec<String>), Problem> {
        self.client.servers().list(&self.profile, &self.folder).await
    }

    async fn find(&self, name: &str) -> Result<PlacedServer, Problem> {
        let (servers, problems) = self.servers().await?;
        let names: Vec<&str> = servers.iter().map(|server| server.entry.name.as_str()).collect();
        let hint = match (problems.first(), names.is_empty()) {
            (Some(problem), _) => problem.clone(),
            (None, true) => words::NO_SERVERS.to_owned(),
            (None, false) => format!("Servers here: {}.", names.join(", ")),
        };
        let unknown = || Problem::new(ProblemKind::NotFound, format!("Unknown MCP server {name}.")).hint(hint);
        servers.iter().find(|server| server.entry.name == name).cloned().ok_or_else(unknown)
    }

    async fn list(&self, json: bool) -> Result<CliOutcome, Problem> {
        let (servers, problems) = self.servers().await?;
        for server in &servers {
            let (entry, tools) = (&server.entry, self.client.servers().known_tools(server));
            if json {
                print_json(&json!({
                    "name": entry.name, "source": entry.source.name(), "status": server.standing.name(),
                    "address": entry.shown, "environment": entry.given_names(), "reads": entry.reads,
                    "missing": entry.missing, "tools": tools, "hash": entry.hash,
                    "login": self.client.servers().login_state(server).name(),
                }))?;
                continue;
            }
            let tools = tools.map_or_else(String::new, |count| format!("  {}", format::plural(count, "tool")));
            let login = words::servers::login_mark(self.client.servers().login_state(server));
            print(&format!("{}{tools}{login}\n", words::server_line(server)))?;
        }
        if servers.is_empty() && !json {
            print(&format!("{}\n", words::NO_SERVERS))?;
        }
        problems.iter().for_each(|problem| note(&format!("note: {problem}")));
        Ok(CliOutcome::Done)
    }

    fn add(
        &self,
        name: String,
        env: Vec<String>,
        headers: &[String],
        trusts_annotations: bool,
        target: Vec<String>,
    ) -> Result<CliOutcome, Problem> {
        let is_url = matches!(target.as_slice(), [url] if url.starts_with("https://") || url.starts_with("http://"));
        let (command, url) = if is_url { (Vec::new(), target.concat()) } else { (target, String::new()) };
        let header = |text: &String| {
            let wrong = || Problem::new(ProblemKind::Usage, format!("Invalid header \"{text}\"."));
            let (name, value) = text.split_once(':').ok_or_else(|| wrong().hint("Write it as \"NAME: VALUE\"."))?;
            Ok((name.trim().to_owned(), value.trim().to_owned()))
        };
        let headers = headers.iter().map(header).collect::<Result<Vec<_>, Problem>>()?;
        if is_url && !env.is_empty() || !is_url && !headers.is_empty() {
            return Err(Problem::new(ProblemKind::Usage, "--env is for commands, and --header is for addresses.")
                .hint("A server has either a command or an address."));
        }
        let server = NewServer { name: name.clone(), command, url, env, headers, trusts_annotations };
        config::add_server(&self.profile, &server)?;
        print(&format!(
            "Added {name} to {}. `trimtab mcp tools {name}` lists its tools.\n",
            self.profile.file.display()
        ))?;
        Ok(CliOutcome::Done)
    }

    async fn remove(&self, name: &str) -> Result<CliOutcome, Problem> {
        let server = self.find(name).await?;
        if server.entry.source == ServerSource::Project {
            return Err(Problem::new(ProblemKind::Usage, format!("{name} is a server from .mcp.json in this folder."))
                .hint(format!("`trimtab mcp disable {name}` turns it off.")));
        }
        // Without its entry, nobody could log out of the server again.
        if self.client.servers().login_state(&server) != LoginState::None {
            self.client.servers().logout(&server).await?;
        }
        config::remove_server(&self.profile, name)?;
        print(&format!("Removed {name}.\n"))?;
        Ok(CliOutcome::Done)
    }

    async fn enable(&self, name: &str, yes: bool) -> Result<CliOutcome, Problem> {
        let server = self.find(name).await?;
        if server.entry.source == ServerSource::User {
            config::enable_server(&self.profile, name, true)?;
            print(&format!("{name} is on.\n"))?;
            return Ok(CliOutcome::Done);
        }
        print(&words::servers::described(&server))?;
        if server.standing == ServerStanding::On {
            print(&format!("{name} is on already.\n"))?;
            return Ok(CliOutcome::Done);
        }
        if yes || approval::ask("server", "mcp", name).await? {
            self.client.servers().decide(&server, true).await?;
            approval::report(name, &self.folder)?;
        }
        Ok(CliOutcome::Done)
    }

    async fn disable(&self, name: &str) -> Result<CliOutcome, Problem> {
        let server = self.find(name).await?;
        match server.entry.source {
            ServerSource::User => config::enable_server(&self.profile, name, false)?,
            // Servers of an editor belong to its sessions, so that none is found here.
            ServerSource::Project | ServerSource::Editor => self.client.servers().decide(&server, false).await?,
        }
        print(&format!("{name} is off.\n"))?;
        Ok(CliOutcome::Done)
    }

    /// The servers that a command is about: one by its name, or all that are on.
    async fn chosen(&self, name: Option<&str>) -> Result<Vec<PlacedServer>, Problem> {
        match name {
            Some(name) => Ok(vec![self.find(name).await?]),
            None => {
                let (servers, problems) = self.servers().await?;
                problems.iter().for_each(|problem| note(&format!("note: {problem}")));
                Ok(servers.into_iter().filter(|server| server.standing == ServerStanding::On).collect())
            }
        }
    }

    /// Connects the servers that a command is about. One that cannot be connected does not keep the others from it.
    async fn checked(&self, name: Option<&str>) -> Result<(Vec<CheckedServer>, CliOutcome), Problem> {
        let (mut all, mut outcome) = (Vec::new(), CliOutcome::Done);
        for server in self.chosen(name).await? {
            match (self.client.servers().check(&server).await, name) {
                (Ok(checked), _) => all.push(checked),
                (Err(problem), Some(_)) => return Err(problem),
                (Err(problem), None) => {
                    outcome = CliOutcome::Finished(Status::Failed);
                    output::problem(&problem);
                }
            }
        }
        Ok((all, outcome))
    }

    async fn resources(&self, name: Option<&str>, json: bool) -> Result<CliOutcome, Problem> {
        let (checked, outcome) = self.checked(name).await?;
        for server in &checked {
            for resource in &server.resources {
                let ServerResource { uri, name, description, is_template } = resource;
                if json {
                    print_json(&json!({
                        "server": server.name, "uri": uri, "name": name, "description": description,
                        "isTemplate": is_template,
                    }))?;
                    continue;
                }
                let about = if description.is_empty() { name } else { description };
                print(&format!("@{}:{uri}\n    {about}\n", server.name))?;
            }
        }
        if !json && checked.iter().all(|server| server.resources.is_empty()) {
            print("There are no resources.\n")?;
        }
        Ok(outcome)
    }

    async fn read(&self, name: &str, uri: &str) -> Result<CliOutcome, Problem> {
        let server = self.find(name).await?;
        let read = self.client.servers().read(&server, uri).await?;
        print(&format!("{}\n", read.text.trim_end()))?;
        Ok(CliOutcome::Done)
    }

    async fn prompts(&self, name: Option<&str>, json: bool) -> Result<CliOutcome, Problem> {
        let (checked, outcome) = self.checked(name).await?;
        for server in &checked {
            for prompt in &server.prompts {
                if json {
                    print_json(&json!({
                        "server": server.name, "prompt": prompt.name, "description": prompt.description,
                        "arguments": prompt.arguments,
                    }))?;
                    continue;
                }
                let usage = format!("/{}:{} {}", server.name, prompt.name, prompt.usage());
                print(&format!("{}\n    {}\n", usage.trim_end(), prompt.description))?;
            }
        }
        if !json && checked.iter().all(|server| server.prompts.is_empty()) {
            print("There are no prompts.\n")?;
        }
        Ok(outcome)
    }

    async fn tools(&self, name: Option<&str>, json: bool) -> Result<CliOutcome, Problem> {
        let (all, outcome) = self.checked(name).await?;
        for checked in all {
            let name = &checked.name;
            for tool in &checked.tools {
                let marks: Vec<&str> = [(tool.read_only, "read-only"), (tool.destructive, "destructive")]
                    .iter()
                    .filter_map(|(is, word)| is.then_some(*word))
                    .collect();
                if json {
                    print_json(&json!({
                        "server": name, "tool": tool.name, "description": tool.description,
                        "inputSchema": tool.input_schema, "readOnly": tool.read_only, "destructive": tool.destructive,
                    }))?;
                    continue;
                }
                let marks = if marks.is_empty() { String::new() } else { format!(" ({})", marks.join(", ")) };
                let about = tool.description.lines().next().unwrap_or_default();
                print(&format!("{name}: {}{marks}\n    {about}\n", tool.name))?;
            }
            checked.notes.iter().for_each(|problem| note(&format!("note: {name}: {problem}")));
        }
        Ok(outcome)
    }

    async fn call(&self, name: &str, tool: &str, input: &str, json: bool) -> Result<CliOutcome, Problem> {
        let input: Map<String, Value> = serde_json::from_str(input).map_err(|error| {
            Problem::new(ProblemKind::Usage, format!("The arguments are not a JSON object: {error}."))
                .hint("For example: '{\"path\": \"a.txt\"}'")
        })?;
        let server = self.find(name).await?;
        let answer = self.client.servers().call(&server, tool, input).await?;
        match json {
            true => print_json(&json!({
                "server": name, "tool": tool, "isError": answer.is_error, "text": answer.text,
                "images": answer.images.iter().map(|(media_type, base64)| json!({"mediaType": media_type, "base64": base64})).collect::<Vec<_>>(),
            }))?,
            false => {
                print(&format!("{}\n", answer.text.trim_end()))?;
                for (media_type, _) in &answer.images {
                    note(&format!("note: The result has an image ({media_type}). Use --json to get it."));
                }
            }
        }
        match answer.is_error {
            true => Ok(CliOutcome::Finished(Status::Failed)),
            false => Ok(CliOutcome::Done),
        }
    }

    async fn check(&self) -> Result<CliOutcome, Problem> {
        let (servers, problems) = self.servers().await?;
        let mut has_failed = !problems.is_empty();
        for problem in problems {
            print(&format!("problem  {problem}\n"))?;
        }
        for server in &servers {
            let name = &server.entry.name;
            if server.standing != ServerStanding::On {
                print(&format!("note     {name}: {}\n", server.standing.name()))?;
                continue;
            }
            match self.client.servers().check(server).await {
                Ok(checked) => {
                    let counts = [
                        (checked.tools.len(), "tool"),
                        (checked.resources.len(), "resource"),
                        (checked.prompts.len(), "prompt"),
                    ];
                    let is_shown = |(count, word): &(usize, &str)| *count > 0 || *word == "tool";
                    let counts = counts.into_iter().filter(is_shown).map(|(count, word)| format::plural(count, word));
                    let counts = counts.collect::<Vec<_>>().join(", ");
                    print(&format!("ok       {name}: {}, {counts}\n", checked.about))?;
                    for line in checked.notes.iter().chain(&checked.errors) {
                        print(&format!("         {line}\n"))?;
                    }
                }
                Err(problem) => {
                    has_failed = true;
                    let hint = problem.hint.map(|hint| format!("\n         {hint}")).unwrap_or_default();
                    print(&format!("problem  {}{hint}\n", problem.message))?;
                }
            }
        }
        match has_failed {
            true => Ok(CliOutcome::Finished(Status::Failed)),
            false => Ok(CliOutcome::Done),
        }
    }
}
