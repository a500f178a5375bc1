//! The tools that a request offers, by its path and its model.

use trimtab_vocab::event::RouteDecision;
use trimtab_vocab::{AnswerProtocol, ModelFacts, Request};

use super::RunningRequest;
use crate::tools::ToolOffer;

/// The tools that a path offers.
pub(crate) fn offer(route: Option<RouteDecision>) -> ToolOffer {
    match route {
        Some(RouteDecision::Direct) => ToolOffer::Everything,
        Some(RouteDecision::Plan) => ToolOffer::Looking,
        _ => ToolOffer::Nothing,
    }
}

/// The model and its facts: a message with images goes to the vision model.
pub(crate) fn model_for(request: &Request) -> (&str, ModelFacts) {
    let settings = &request.settings;
    if request.images.is_empty() || settings.models.vision_model.is_empty() {
        (&settings.models.model, settings.models.facts)
    } else {
        (&settings.models.vision_model, settings.models.vision_facts.unwrap_or_default())
    }
}

impl RunningRequest {
    /// Whether its model can be given tools at all.
    pub(crate) fn has_tools(&self) -> bool {
        model_for(&self.request).1.tools
    }

    /// Whether its answers hold files and replacements in fences.
    pub(crate) fn writes_blocks(&self) -> bool {
        self.answers_in_form() && model_for(&self.request).1.answer_protocol() == AnswerProtocol::EditBlocks
    }

    /// Whether it makes or saves pictures, instead of being answered by a model.
    pub(crate) fn makes_pictures(&self) -> bool {
        let wished = self.request.picture.is_some();
        wished || (self.path() == Some(RouteDecision::Image) && !self.request.settings.image.model.is_empty())
    }

    /// Whether it is answered in the fixed form of models that have no tools.
    pub(crate) fn answers_in_form(&self) -> bool {
        let (_, facts) = model_for(&self.request);
        !facts.tools && offer(self.path()) != ToolOffer::Nothing
    }

    /// Whether commands of its answers may be proposed: not if nothing may run, nor in an assessment.
    pub(crate) fn proposes_commands(&self) -> bool {
        offer(self.path()) == ToolOffer::Everything && !self.calls.assessing
    }
}
