//! Prompts of servers, which the user sends with `/SERVER:PROMPT`.

use std::path::PathBuf;

use serde_json::{Map, Value};
use trimtab_engine::intake::INLINE_LIMIT;
use trimtab_engine::intake::pill::{Definition, split};
use trimtab_vocab::{Mode, Pill, Problem, ProblemKind, PromptParameter, ServerPrompt};
use trimtab_world::mcp::McpError;

use super::entries::is_server_name;
use super::{KnownOffers, PlacedServer, ServerSource, ServerStanding, unusable};
use crate::client::Client;
use crate::config::Profile;
use crate::pills::{KnownPill, PillKind, PillSource, Pills};

/// Words that may call a prompt.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PromptCall<'a> {
    server: &'a str,
    prompt: &'a str,
    arguments: &'a str,
}

impl<'a> PromptCall<'a> {
    /// Reads `/SERVER:PROMPT` and what follows. Whether there is such a server is not checked.
    pub(crate) fn read(text: &'a str) -> Option<Self> {
        let rest = text.trim_start().strip_prefix('/')?;
        let (name, arguments) = rest.split_at(rest.find(char::is_whitespace).unwrap_or(rest.len()));
        let (server, prompt) = name.split_once(':')?;
        let is_call = is_server_name(server) && !prompt.is_empty();
        is_call.then_some(Self { server, prompt, arguments: arguments.trim() })
    }

    /// The arguments by their names: `NAME=VALUE`, or values in the order of the prompt. The last value takes the rest.
    fn named(&self, parameters: &[PromptParameter]) -> Result<Map<String, Value>, String> {
        let mut named = Map::new();
        let mut free = Vec::new();
        for word in split(self.arguments) {
            let pair = word.split_once('=').filter(|(name, _)| parameters.iter().any(|known| known.name == *name));
            match pair {
                Some((name, value)) => {
                    let value = value.trim_matches(['"', '\'']);
                    named.insert(name.to_owned(), value.into());
                }
                None => free.push(word),
            }
        }
        let open: Vec<&PromptParameter> =
            parameters.iter().filter(|parameter| !named.contains_key(&parameter.name)).collect();
        if open.is_empty() && !free.is_empty() {
            return Err(format!("It takes no more text: {}", free.join(" ")));
        }
        for (at, parameter) in open.iter().enumerate().take(free.len()) {
            let value = if at + 1 == open.len() { free[at..].join(" ") } else { free[at].to_owned() };
            named.insert(parameter.name.clone(), value.into());
        }
        match parameters.iter().find(|parameter| parameter.required && !named.contains_key(&parameter.name)) {
            Some(missing) => Err(format!("The argument {} is missing.", missing.name)),
            None => Ok(named),
        }
    }
}

/// A prompt as a request sends it.
pub(crate) struct FilledPrompt {
    pub(crate) pill: Pill,
    /// Media type and base64 of each.
    pub(crate) images: Vec<(String, String)>,
}

impl Client {
    /// Everything that can be called by `/name` in a folder: pills, commands of other programs, skills, and the prompts of
    /// MCP servers as far as they are known. Nothing is started for it.
    pub async fn pills(&self, profile: &Profile, folder: &str) -> Result<Pills, Problem> {
        let trusted = self.permissions().trusts(profile, folder).await?;
        let (of_profile, place) = (profile.clone(), trusted.then(|| folder.to_owned()));
        let read = tokio::task::spawn_blocking(move || Pills::load(&of_profile, place.as_deref()));
        let mut pills = read.await.map_err(|_| Problem::new(ProblemKind::Internal, "The pills cannot be read."))?;
        let Some(servers) = self.deps().servers.clone().filter(|_| trusted) else { return Ok(pills) };
        let (placed, _) = self.servers().list(profile, folder).await?;
        for server in placed.iter().filter(|server| server.standing == ServerStanding::On) {
            let KnownOffers { prompts, .. } = servers.known_offers(server).unwrap_or_default();
            pills.add_prompts(prompts.into_iter().map(|prompt| known(server, prompt)));
        }
        Ok(pills)
    }

    /// The prompt that words call; none if they call none.
    pub(crate) async fn called_prompt(
        &self,
        trusted: Option<&str>,
        text: &str,
    ) -> Result<Option<FilledPrompt>, Problem> {
        let (Some(call), Some(servers)) = (PromptCall::read(text), self.deps().servers.clone()) else {
            return Ok(None);
        };
        let rules = self.permissions().rules().await?;
        let (placed, _) = servers.placed(trusted, None, &rules);
        let Some(server) = placed.iter().find(|server| server.entry.name == call.server) else { return Ok(None) };
        if trusted.is_none() {
            let what = format!("The MCP server {} is used only in folders that you trust.", call.server);
            return Err(
                Problem::new(ProblemKind::Usage, what).hint("Nothing was sent. `trimtab trust` trusts this folder.")
            );
        }
        let wrong = |error: McpError| unusable(server, &error);
        let connection = servers.connect(server).await.map_err(wrong)?;
        let offered = match servers.known_offers(server) {
            Some(offers) if offers.prompts.iter().any(|prompt| prompt.name == call.prompt) => offers,
            // It may be new.
            _ => {
                servers.list(server).await.map_err(wrong)?;
                servers.known_offers(server).unwrap_or_default()
            }
        };
        let Some(prompt) = offered.prompts.iter().find(|prompt| prompt.name == call.prompt) else {
            return Err(unknown(&call, &offered.prompts));
        };
        let arguments = call.named(&prompt.arguments).map_err(|why| {
            let usage = format!("/{}:{} {}", call.server, prompt.name, prompt.usage());
            Problem::new(ProblemKind::Usage, format!("The prompt {} cannot be sent like this. {why}", prompt.name))
                .hint(format!("Nothing was sent. Write it as: {}", usage.trim_end()))
        })?;
        let answer = connection.get_prompt(&prompt.name, arguments).await.map_err(wrong)?;
        if answer.text.len() > INLINE_LIMIT {
            let what = format!("The text of the prompt {} is larger than {} KB.", prompt.name, INLINE_LIMIT / 1024);
            return Err(Problem::new(ProblemKind::Usage, what).hint("Nothing was sent."));
        }
        let pill = Pill {
            name: format!("{}:{}", call.server, call.prompt),
            from: origin(server),
            text: format!(
                "The user sends this prompt, which the MCP server {} has written:\n\n{}",
                call.server, answer.text
            ),
            mode: Mode::Auto,
            categories: Vec::new(),
            tools: Vec::new(),
            skill: None,
        };
        Ok(Some(FilledPrompt { pill, images: answer.images }))
    }
}

fn unknown(call: &PromptCall<'_>, prompts: &[ServerPrompt]) -> Problem {
    let names: Vec<&str> = prompts.iter().map(|prompt| prompt.name.as_str()).take(20).collect();
    let hint = match names.is_empty() {
        true => "It has no prompts.".to_owned(),
        false => format!("It has {}.", names.join(", ")),
    };
    let shown: String = call.prompt.chars().filter(|c| !c.is_control()).take(60).collect();
    let what = format!("The MCP server {} has no prompt named {shown}.", call.server);
    Problem::new(ProblemKind::NotFound, what).hint(format!("{hint} Nothing was sent."))
}

fn origin(server: &PlacedServer) -> String {
    format!("MCP server {}", server.entry.name)
}

fn known(server: &PlacedServer, prompt: ServerPrompt) -> KnownPill {
    let source = match server.entry.source {
        ServerSource::User => PillSource::User,
        ServerSource::Project | ServerSource::Editor => PillSource::Project,
    };
    let definition = Definition {
        name: format!("{}:{}", server.entry.name, prompt.name),
        arguments: prompt.usage(),
        description: prompt.description,
        tools: Vec::new(),
        mode: Mode::Auto,
        categories: Vec::new(),
        body: String::new(),
        model: None,
        is_hint: false,
    };
    KnownPill::new(definition, PillKind::Prompt, source, PathBuf::from(origin(server)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parameter(name: &str, required: bool) -> PromptParameter {
        PromptParameter { name: name.into(), required, ..PromptParameter::default() }
    }

    #[test]
    fn a_call_names_a_server_and_a_prompt() {
        let read = |text| PromptCall::read(text).map(|call| (call.server, call.prompt, call.arguments));
        assert_eq!(read(" /docs:fix a b "), Some(("docs", "fix", "a b")));
        assert_eq!(read("/docs:team/fix-it"), Some(("docs", "team/fix-it", "")));
        for text in ["docs:fix", "/docs", "/docs:", "/etc/a:b", "/a__b:c", "/ docs:fix"] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn arguments_have_names_or_an_order_and_the_last_takes_the_rest() {
        let parameters = [parameter("file", true), parameter("why", false)];
        let named = |text: &str| PromptCall::read(text).expect("a call").named(&parameters).map(Value::Object);
        assert_eq!(named("/s:p a.rs it is slow"), Ok(json!({"file": "a.rs", "why": "it is slow"})));
        assert_eq!(named("/s:p \"a b.rs\""), Ok(json!({"file": "a b.rs"})));
        assert_eq!(named("/s:p why=slow a.rs"), Ok(json!({"why": "slow", "file": "a.rs"})));
        assert_eq!(named("/s:p x=1"), Ok(json!({"file": "x=1"})), "no argument has this name");
        assert_eq!(named("/s:p"), Err("The argument file is missing.".to_owned()));
        let none = PromptCall::read("/s:p more").expect("a call").named(&[]);
        assert_eq!(none, Err("It takes no more text: more".to_owned()));
    }
}
