//! A search query for sessions.

use trimtab_vocab::Fact;
use trimtab_vocab::event::{AnswerFact, RequestFact};

/// A search for sessions. All parts must be found in one session, each in any place.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionQuery {
    tags: Vec<String>,
    words: Vec<String>,
}

impl SessionQuery {
    /// Requests with all of these tags, and all of these words somewhere in the name, in what was asked or in
    /// what was answered; case does not count.
    pub fn new(tags: &[String], words: &str) -> Self {
        let tag = |tag: &String| tag.trim_start_matches('#').to_lowercase();
        let words = words.split_whitespace().map(str::to_lowercase).collect();
        Self { tags: tags.iter().map(tag).collect(), words }
    }

    /// The name of a session was seen.
    pub fn see_title(&mut self, title: &str) {
        self.see_text(title);
    }

    /// A fact was seen.
    pub fn observe(&mut self, fact: &Fact) {
        let (text, tags) = match fact {
            Fact::Request(RequestFact::Received { text, tags, .. } | RequestFact::Joined { text, tags, .. }) => {
                (text, tags)
            }
            Fact::Answer(AnswerFact { answer }) => return self.see_text(&answer.summary),
            _ => return,
        };
        self.tags.retain(|wanted| !tags.contains(wanted));
        self.see_text(text);
    }

    fn see_text(&mut self, text: &str) {
        if !self.words.is_empty() {
            let text = text.to_lowercase();
            self.words.retain(|wanted| !text.contains(wanted));
        }
    }

    /// Whether everything was found.
    pub fn is_found(&self) -> bool {
        self.tags.is_empty() && self.words.is_empty()
    }
}
