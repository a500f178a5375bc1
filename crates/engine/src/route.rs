//! Which path a request takes. Work in a folder goes straight to the agent loop; conversation has
//! no tools; plan mode looks and changes nothing.

use trimtab_vocab::event::{RouteDecision, RouteFact};
use trimtab_vocab::{Mode, Request};

use crate::turn::tools::Offer;

/// Words that are only a greeting or thanks; nobody needs tools to answer them.
const SMALL_TALK: &[&str] =
    &["hello", "hi", "hey", "good morning", "good evening", "thanks", "thank you", "bye", "goodbye", "how are you"];

pub(crate) fn decide(request: &Request, has_folder: bool) -> RouteFact {
    let words = request.text.trim().trim_end_matches(['!', '.', '?', ' ']).to_lowercase();
    let facts = request.settings.facts;
    let (decision, reason) = match request.mode {
        Mode::Chat => (RouteDecision::Chat, "the person chose a conversation"),
        Mode::Plan => (RouteDecision::Plan, "the person chose to plan first"),
        Mode::Auto if !has_folder => (RouteDecision::Chat, "there is no folder to work in"),
        Mode::Auto if !facts.tools && SMALL_TALK.contains(&words.as_str()) => {
            (RouteDecision::Chat, "the words are small talk")
        }
        Mode::Auto if !facts.tools => (RouteDecision::Direct, "the model cannot use tools and answers in a fixed form"),
        Mode::Auto if SMALL_TALK.contains(&words.as_str()) => (RouteDecision::Chat, "the words are small talk"),
        Mode::Auto => (RouteDecision::Direct, "work in a folder goes straight to the agent"),
    };
    let categories: &[&str] = match decision {
        RouteDecision::Chat => &[],
        RouteDecision::Plan => &["files", "web"],
        _ => &["files", "commands", "web"],
    };
    RouteFact {
        decision,
        confidence: 1.0,
        complexity: 0,
        categories: categories.iter().map(|name| (*name).to_owned()).collect(),
        reason: reason.into(),
        entities: None,
        filter: None,
        analysis: None,
    }
}

/// The tools that a path offers.
pub(crate) fn offer(route: Option<RouteDecision>) -> Offer {
    match route {
        Some(RouteDecision::Direct) => Offer::Everything,
        Some(RouteDecision::Plan) => Offer::Looking,
        _ => Offer::Nothing,
    }
}
