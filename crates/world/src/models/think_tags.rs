//! Reasoning that a model puts between tags, in the middle of its words.
//!
//! `<think>…</think>` counts only at the very start of a reply: later in the text it is something
//! that the model talks about. Granite also puts its answer between `<response>` and `</response>`.
//! Tags may be split over pieces anywhere; what may still become one is held back until it is clear.

const THINK: &str = "<think>";
const THINK_END: &str = "</think>";
const RESPONSE: &str = "<response>";
const RESPONSE_END: &str = "</response>";
/// A tag after more blank than this is not at the start of anything, and what is held back must
/// not fill the memory.
const LONGEST_BLANK: usize = 64;

/// A piece of what was said, without its tags.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TaggedText {
    /// Reasoning.
    Thinking(String),
    /// Words.
    Text(String),
}

/// Takes a reply apart as it comes.
#[derive(Debug)]
pub(super) struct ThinkTags {
    has_response: bool,
    place: TagState,
    held: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TagState {
    /// Nothing but blank so far.
    Start,
    /// Between the tags of reasoning; `begun` after its first word, because blank before that is layout.
    Thinking { begun: bool },
    /// After the reasoning and before the first word.
    Between,
    /// Between the tags of the answer.
    Response { begun: bool },
    /// After the answer.
    After,
    /// Everything from here on is words.
    Text,
}

impl ThinkTags {
    /// For models that put their reasoning between tags, and their answer after it.
    pub(super) fn plain() -> Self {
        Self { has_response: false, place: TagState::Start, held: String::new() }
    }

    /// For Granite, which puts its answer between tags as well.
    pub(super) fn granite() -> Self {
        Self { has_response: true, ..Self::plain() }
    }

    /// The provider separates reasoning, so a tag in the text is part of the text.
    pub(super) fn skip_thinking(&mut self) {
        if self.place == TagState::Start && self.held.trim().is_empty() {
            self.place = TagState::Between;
        }
    }

    /// Adds a piece of the reply; gives back what is clear by now.
    pub(super) fn push(&mut self, piece: &str) -> Vec<TaggedText> {
        self.held.push_str(piece);
        let mut said = Vec::new();
        while self.advance(&mut said) {}
        said
    }

    /// The reply is over: text that was held back as a possible tag is not one. A tag that was never closed ends
    /// here.
    pub(super) fn finish(&mut self) -> Vec<TaggedText> {
        let held = std::mem::take(&mut self.held);
        let place = std::mem::replace(&mut self.place, TagState::Text);
        let mut said = Vec::new();
        match place {
            TagState::Thinking { .. } => push_some(&mut said, held, TaggedText::Thinking),
            TagState::Response { .. } | TagState::Text => push_some(&mut said, held, TaggedText::Text),
            // Blank with no word before or after it says nothing.
            TagState::Start | TagState::Between | TagState::After if held.trim().is_empty() => {}
            TagState::Start | TagState::Between | TagState::After => push_some(&mut said, held, TaggedText::Text),
        }
        said
    }

    /// One step; true when there may be another.
    fn advance(&mut self, said: &mut Vec<TaggedText>) -> bool {
        match self.place {
            TagState::Start => self.open(Some((THINK, TagState::Thinking { begun: false }))),
            TagState::Between => {
                let blank = self.blank();
                self.held.drain(..blank);
                self.open(None)
            }
            TagState::Thinking { begun } => {
                let begun = self.begin(begun);
                self.place = TagState::Thinking { begun };
                self.close(THINK_END, TagState::Between, said, TaggedText::Thinking)
            }
            TagState::Response { begun } => {
                let begun = self.begin(begun);
                self.place = TagState::Response { begun };
                self.close(RESPONSE_END, TagState::After, said, TaggedText::Text)
            }
            TagState::After => {
                let goes_on = self.blank() < self.held.len() || self.blank() > LONGEST_BLANK;
                if goes_on {
                    self.place = TagState::Text;
                }
                goes_on
            }
            TagState::Text => {
                push_some(said, std::mem::take(&mut self.held), TaggedText::Text);
                false
            }
        }
    }

    /// Looks for a tag that opens something here; anything else is words.
    fn open(&mut self, thinking: Option<(&str, TagState)>) -> bool {
        let response = self.has_response.then_some((RESPONSE, TagState::Response { begun: false }));
        let blank = self.blank();
        let word = &self.held[blank..];
        let mut tags = thinking.into_iter().chain(response);
        if blank <= LONGEST_BLANK {
            if let Some((tag, place)) = tags.clone().find(|(tag, _)| word.starts_with(tag)) {
                self.held.drain(..blank + tag.len());
                self.place = place;
                return true;
            }
            if word.is_empty() || tags.any(|(tag, _)| tag.starts_with(word)) {
                return false;
            }
        }
        self.place = TagState::Text;
        true
    }

    /// Gives out everything before the tag that closes this place, or before what may become it.
    fn close(&mut self, tag: &str, next: TagState, said: &mut Vec<TaggedText>, kind: fn(String) -> TaggedText) -> bool {
        if let Some(at) = self.held.find(tag) {
            let rest = self.held.split_off(at + tag.len());
            let mut before = std::mem::replace(&mut self.held, rest);
            before.truncate(at);
            push_some(said, before, kind);
            self.place = next;
            return true;
        }
        let kept = (1..tag.len()).rev().find(|length| self.held.ends_with(&tag[..*length])).unwrap_or(0);
        let rest = self.held.split_off(self.held.len() - kept);
        push_some(said, std::mem::replace(&mut self.held, rest), kind);
        false
    }

    /// Drops blank before the first word; true once there is one.
    fn begin(&mut self, begun: bool) -> bool {
        if !begun {
            let blank = self.blank();
            self.held.drain(..blank);
        }
        begun || !self.held.is_empty()
    }

    fn blank(&self) -> usize {
        self.held.len() - self.held.trim_start().len()
    }
}

fn push_some(said: &mut Vec<TaggedText>, text: String, kind: fn(String) -> TaggedText) {
    if !text.is_empty() {
        said.push(kind(text));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is said in these pieces: neighbours of one kind are joined.
    fn heard<'a>(mut tags: ThinkTags, pieces: impl IntoIterator<Item = &'a str>) -> Vec<TaggedText> {
        let mut said: Vec<TaggedText> = pieces.into_iter().flat_map(|piece| tags.push(piece)).collect();
        said.extend(tags.finish());
        let mut joined: Vec<TaggedText> = Vec::new();
        for next in said {
            match (joined.last_mut(), next) {
                (Some(TaggedText::Thinking(whole)), TaggedText::Thinking(more)) => whole.push_str(&more),
                (Some(TaggedText::Text(whole)), TaggedText::Text(more)) => whole.push_str(&more),
                (_, next) => joined.push(next),
            }
        }
        joined
    }

    fn thinking(text: &str) -> TaggedText {
        TaggedText::Thinking(text.into())
    }

    fn text(text: &str) -> TaggedText {
        TaggedText::Text(text.into())
    }

    /// Replies, what they say of a Granite model, and what of any other.
    fn corpus() -> Vec<(String, Vec<TaggedText>, Vec<TaggedText>)> {
        let same = |reply: &str, said: Vec<TaggedText>| (reply.to_owned(), said.clone(), said);
        let blank = " ".repeat(65);
        vec![
            same("", vec![]),
            same(" \n ", vec![]),
            same("Hello", vec![text("Hello")]),
            same("  Hello ", vec![text("  Hello ")]),
            same("<think>Hm. 🦀</think>Yes.", vec![thinking("Hm. 🦀"), text("Yes.")]),
            same("\n<think>\nHm.\n</think>\n\nYes.\n", vec![thinking("Hm.\n"), text("Yes.\n")]),
            same("<think>\n\n</think>\n\nYes.", vec![text("Yes.")]),
            same("<think></think>", vec![]),
            // Unclosed: all of it is reasoning, and no words are made of it.
            same("<think>Hm, what", vec![thinking("Hm, what")]),
            same("<think>Hm</thi", vec![thinking("Hm</thi")]),
            same("<think>", vec![]),
            same("<thin", vec![text("<thin")]),
            same(" <thin", vec![text(" <thin")]),
            same("<thinking>Hm", vec![text("<thinking>Hm")]),
            // Later in the text a tag is a word.
            same("The tag <think>a</think> is", vec![text("The tag <think>a</think> is")]),
            same("<think>a</think>So <think>b</think>", vec![thinking("a"), text("So <think>b</think>")]),
            same("<think>a <think> b</think>c", vec![thinking("a <think> b"), text("c")]),
            same("</think>x", vec![text("</think>x")]),
            same("<THINK>x", vec![text("<THINK>x")]),
            same(&format!("{blank}<think>x"), vec![text(&format!("{blank}<think>x"))]),
            same(&format!("{}<think>x", &blank[1..]), vec![thinking("x")]),
            (
                "<think>a</think><response>b</response>".into(),
                vec![thinking("a"), text("b")],
                vec![thinking("a"), text("<response>b</response>")],
            ),
            (
                "<think>\na\n</think>\n\n<response>\nb ü\n</response>\n".into(),
                vec![thinking("a\n"), text("b ü\n")],
                vec![thinking("a\n"), text("<response>\nb ü\n</response>\n")],
            ),
            ("<response>b</response>".into(), vec![text("b")], vec![text("<response>b</response>")]),
            // Unclosed: its text is text.
            (
                "<think>a</think><response>b".into(),
                vec![thinking("a"), text("b")],
                vec![thinking("a"), text("<response>b")],
            ),
            ("<response>b</respo".into(), vec![text("b</respo")], vec![text("<response>b</respo")]),
            same("<think>a</think><resp", vec![thinking("a"), text("<resp")]),
            ("<response>b</response> c".into(), vec![text("b c")], vec![text("<response>b</response> c")]),
            (
                format!("<response>b</response>{blank}"),
                vec![text(&format!("b{blank}"))],
                vec![text(&format!("<response>b</response>{blank}"))],
            ),
            same("Say <response>x</response>", vec![text("Say <response>x</response>")]),
            same("{\"a\":\"<think>\"}", vec![text("{\"a\":\"<think>\"}")]),
        ]
    }

    #[test]
    fn tags_are_taken_off_where_they_stand_for_something() {
        for (reply, granite, plain) in corpus() {
            assert_eq!(heard(ThinkTags::granite(), [reply.as_str()]), granite, "{reply:?} of Granite");
            assert_eq!(heard(ThinkTags::plain(), [reply.as_str()]), plain, "{reply:?}");
        }
    }

    #[test]
    fn however_a_reply_is_split_it_says_the_same() {
        for (reply, granite, plain) in corpus() {
            let ends: Vec<usize> = reply.char_indices().map(|(at, _)| at).chain([reply.len()]).collect();
            let each: Vec<&str> = ends.windows(2).map(|pair| &reply[pair[0]..pair[1]]).collect();
            assert_eq!(heard(ThinkTags::granite(), each.iter().copied()), granite, "{reply:?} by characters");
            assert_eq!(heard(ThinkTags::plain(), each), plain, "{reply:?} by characters");
            for (number, first) in ends.iter().enumerate() {
                for second in &ends[number..] {
                    let pieces = [&reply[..*first], &reply[*first..*second], &reply[*second..]];
                    assert_eq!(heard(ThinkTags::granite(), pieces), granite, "{pieces:?} of Granite");
                    assert_eq!(heard(ThinkTags::plain(), pieces), plain, "{pieces:?}");
                }
            }
        }
    }

    /// Replies made of tags, halves of tags and words in any order, split anywhere.
    #[test]
    fn random_replies_say_the_same_however_they_are_split() {
        let words = [
            "<think>",
            "</think>",
            "<response>",
            "</response>",
            "<",
            "</",
            "think>",
            "<resp",
            "a",
            " ",
            "\n",
            "ü",
            "🦀",
        ];
        let mut seed = 7_u64;
        let mut any = |most: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(seed >> 33).expect("31 bits") % most
        };
        for _ in 0..20_000 {
            let reply: String = (0..any(9)).map(|_| words[any(words.len())]).collect();
            let (mut pieces, mut rest) = (Vec::new(), reply.as_str());
            while !rest.is_empty() {
                let length =
                    rest.char_indices().map(|(at, _)| at).chain([rest.len()]).nth(any(6)).unwrap_or(rest.len());
                let (piece, left) = rest.split_at(length);
                pieces.push(piece);
                rest = left;
            }
            for tags in [ThinkTags::granite, ThinkTags::plain] {
                assert_eq!(heard(tags(), pieces.iter().copied()), heard(tags(), [reply.as_str()]), "{pieces:?}");
            }
        }
    }

    #[test]
    fn words_come_as_soon_as_they_are_clear() {
        let mut tags = ThinkTags::granite();
        assert_eq!(tags.push("<think>Hm"), [thinking("Hm")]);
        assert_eq!(tags.push(", a < b </"), [thinking(", a < b ")]);
        assert_eq!(tags.push("x"), [thinking("</x")]);
        assert_eq!(tags.push("</think>\n<response>So"), [text("So")]);
        assert_eq!(tags.push(" it is."), [text(" it is.")]);
    }

    #[test]
    fn reasoning_that_came_apart_leaves_only_the_answers_tags_to_read() {
        for mut tags in [ThinkTags::plain(), ThinkTags::granite()] {
            tags.skip_thinking();
            assert_eq!(heard(tags, ["\n<think> is a tag"]), [text("<think> is a tag")]);
        }
        let mut tags = ThinkTags::granite();
        tags.skip_thinking();
        assert_eq!(heard(tags, ["<response>b</response>"]), [text("b")]);
        let mut tags = ThinkTags::plain();
        assert_eq!(tags.push("<think>a"), [thinking("a")]);
        tags.skip_thinking();
        assert_eq!(tags.push("b"), [thinking("b")], "what has begun goes on");
    }

    #[test]
    fn endless_blank_is_not_held_back() {
        for start in ["", "<think>", "<think>a</think>", "<response>b</response>"] {
            let mut tags = ThinkTags::granite();
            tags.push(start);
            for _ in 0..1_000 {
                tags.push("          ");
            }
            assert!(tags.held.len() <= LONGEST_BLANK, "{start}: {} bytes", tags.held.len());
        }
    }
}
