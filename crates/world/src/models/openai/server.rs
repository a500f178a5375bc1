//! The documented differences between servers and models.

use std::net::IpAddr;

/// Who serves the model, as far as it changes what may be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::models) enum ServerKind {
    OpenAi,
    Azure,
    OpenRouter,
    DeepSeek,
    Moonshot,
    Mistral,
    Xai,
    /// On this machine or near it: llama.cpp, vLLM, LM Studio, Ollama. They ignore what they do not know.
    Local,
    /// Unknown servers get only fields that all servers accept.
    Other,
}

impl ServerKind {
    pub(in crate::models) fn at(base_url: &str) -> Self {
        let url = reqwest::Url::parse(base_url).ok();
        let Some(host) = url.as_ref().and_then(reqwest::Url::host_str) else { return Self::Other };
        let within =
            |domain: &str| host.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
        match host {
            _ if within("api.openai.com") => Self::OpenAi,
            _ if within("openai.azure.com") || within("services.ai.azure.com") => Self::Azure,
            _ if within("openrouter.ai") => Self::OpenRouter,
            _ if within("deepseek.com") => Self::DeepSeek,
            _ if within("moonshot.ai") || within("moonshot.cn") => Self::Moonshot,
            _ if within("mistral.ai") => Self::Mistral,
            _ if within("x.ai") => Self::Xai,
            _ if is_local(host) => Self::Local,
            _ => Self::Other,
        }
    }

    /// OpenAI's own: Azure serves the same models, and takes the same names for cached prompts.
    pub(in crate::models) fn takes_cache_keys(self) -> bool {
        matches!(self, Self::OpenAi | Self::Azure)
    }

    /// Whether it can report the progress of reading a prompt. llama.cpp does, and other local servers ignore the
    /// option.
    pub(super) fn tells_progress(self) -> bool {
        self == Self::Local
    }

    /// Mistral refuses the request for this field; it tells the figures without being asked.
    pub(super) fn takes_stream_options(self) -> bool {
        self != Self::Mistral
    }

    /// The others know only "some JSON".
    pub(super) fn takes_schemas(self) -> bool {
        self != Self::DeepSeek
    }

    /// Whether and how reasoning goes back, by what the servers document. Strict servers refuse a field
    /// that they do not know, and the reasoning of a conversation may come from another server than the
    /// one that is asked next.
    pub(super) fn reasoning(self) -> SentBack {
        match self {
            Self::OpenRouter => SentBack::Details,
            // Both refuse a conversation in which the model used tools and its reasoning is missing.
            Self::DeepSeek | Self::Moonshot => SentBack::InToolTurns { always: true },
            Self::Local => SentBack::InToolTurns { always: false },
            Self::OpenAi | Self::Azure | Self::Mistral | Self::Xai | Self::Other => SentBack::Nothing,
        }
    }
}

/// How reasoning is sent back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SentBack {
    Nothing,
    /// As `reasoning_details`, unchanged.
    Details,
    /// As `reasoning_content`, in turns in which the model used tools. In others it is ignored, and was once an
    /// error. `always`: even if it is empty.
    InToolTurns {
        always: bool,
    },
}

fn is_local(host: &str) -> bool {
    match host.trim_start_matches('[').trim_end_matches(']').parse() {
        Ok(IpAddr::V4(address)) => address.is_loopback() || address.is_private() || address.is_link_local(),
        Ok(IpAddr::V6(address)) => address.is_loopback() || address.is_unique_local(),
        Err(_) => {
            !host.contains('.') || [".local", ".localhost", ".internal", ".lan"].iter().any(|end| host.ends_with(end))
        }
    }
}

/// What a model's name says about it, with any server.
#[derive(Debug, Clone, Copy)]
pub(in crate::models) struct ModelName<'a>(&'a str);

impl<'a> ModelName<'a> {
    pub(in crate::models) fn new(model: &'a str) -> Self {
        Self(model.rsplit('/').next().unwrap_or(model))
    }

    /// `gpt-5.4-mini` is (5, 4). Azure calls version 3.5 `gpt-35`.
    pub(in crate::models) fn gpt(self) -> Option<(u32, u32)> {
        let version = self.0.strip_prefix("gpt-")?.split('-').next()?;
        let (major, minor) = version.split_once('.').unwrap_or((version, "0"));
        Some((major.parse().ok().filter(|major| *major < 35)?, minor.parse().ok()?))
    }

    /// For example `o1` and `o4-mini`.
    pub(in crate::models) fn is_o_series(self) -> bool {
        let number = self.0.strip_prefix('o').and_then(|rest| rest.split('-').next()).unwrap_or("");
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    }

    /// One of the parts of the name, between its hyphens, is this.
    pub(in crate::models) fn has(self, part: &str) -> bool {
        self.0.split('-').any(|one| one == part)
    }

    /// These refuse `max_tokens`, which does not count what they think.
    pub(super) fn counts_thinking(self) -> bool {
        self.is_o_series() || self.gpt().is_some_and(|version| version >= (5, 0))
    }

    /// These refuse a temperature.
    pub(super) fn reasons(self) -> bool {
        self.counts_thinking() && !self.0.contains("-chat")
    }

    /// These refuse tools in this API unless thinking is off.
    pub(in crate::models) fn thinks_or_acts(self) -> bool {
        self.reasons() && self.gpt().is_some_and(|version| version >= (5, 4))
    }

    /// These always send the picture itself, and refuse to be asked in which form it should come.
    pub(super) fn sends_nothing_but_pictures(self) -> bool {
        self.0.contains("gpt-image")
    }

    /// These refuse to be asked for the address of a picture.
    pub(super) fn has_no_addresses(self) -> bool {
        self.0.starts_with("imagen")
    }

    pub(in crate::models) fn is_one_of(self, families: &[&str]) -> bool {
        families.iter().any(|family| {
            self.0.strip_prefix(family).is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', ':']))
        })
    }
}
