//! What is stored of tool results: their first words, and a fingerprint to compare two of them.

/// The beginning of the result of a command that exited.
pub(crate) const EXIT_CODE: &str = "Exit code ";

/// Characters of a finding.
const FINDING: usize = 120;

/// The text without its duration, to detect repeated results.
pub(crate) fn timeless(content: &str) -> &str {
    let (first, rest) = content.split_once('\n').unwrap_or((content, ""));
    if first.starts_with(EXIT_CODE) && first.contains(" It took ") { rest } else { content }
}

/// The first words of a result. How a command ended says little without what it wrote.
pub(crate) fn finding(content: &str) -> String {
    let mut lines = content.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or("(nothing)");
    let line = match lines.next() {
        Some(second) if first.starts_with(EXIT_CODE) => format!("{first} {second}"),
        _ => first.to_owned(),
    };
    let mut words: String = line.chars().map(|c| if c.is_control() { ' ' } else { c }).take(FINDING).collect();
    if line.chars().count() > FINDING {
        words.pop();
        words.push('…');
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_is_the_first_line_that_says_something_and_is_short() {
        assert_eq!(finding("\n\n  hello\nworld"), "hello");
        assert_eq!(finding(""), "(nothing)");
        assert_eq!(
            finding("Exit code 1. It took 2 s.\n\nerror: no such file\nmore"),
            "Exit code 1. It took 2 s. error: no such file"
        );
        assert_eq!(finding("Exit code 0."), "Exit code 0.");
        assert_eq!(finding(&"é".repeat(500)).chars().count(), FINDING);
    }
}
