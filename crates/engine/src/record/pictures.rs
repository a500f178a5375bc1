//! The image gallery: folds facts about images into state.

use serde_json::json;
use trimtab_vocab::{CallId, GeneratedImage, ImageFact, ImageId, PicturePlan, RequestId, ToolCall, Usage};

use super::names::tool::{DRAW, SAVE};
use super::{Batch, Phase, Session};
use crate::proposal::ProposedChange;
use crate::tools::ToolAction;

/// Pictures that one request makes at most.
pub(crate) const MOST_PICTURES: u32 = 10;

/// A picture and who made it last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionPicture {
    /// The picture.
    pub image: GeneratedImage,
    pub request: RequestId,
    /// The call that made it, and its place in it: images are in the order of the request, not of their arrival.
    order: (u64, usize),
}

impl Session {
    pub(super) fn fold_image(&mut self, request: Option<&RequestId>, fact: &ImageFact) {
        match fact {
            ImageFact::Planned { pictures, .. } => {
                let draw = |plan: &PicturePlan| {
                    let action =
                        ToolAction::Draw { prompt: plan.prompt.clone(), count: plan.count.clamp(1, MOST_PICTURES) };
                    (json!({"prompt": plan.prompt, "n": plan.count}), action)
                };
                self.begin_pictures(DRAW, pictures.iter().map(draw).collect());
            }
            ImageFact::Saving { images, folder } => {
                let found = images.iter().filter_map(|image| self.picture(image));
                let stored = found.filter_map(|picture| Some((picture.key()?, picture.media_type.clone())));
                let change = ProposedChange::Save { folder: folder.clone(), pictures: stored.collect() };
                let input = json!({"images": images, "folder": folder});
                self.begin_pictures(SAVE, vec![(input, ToolAction::Change(change))]);
            }
            ImageFact::Made {
                image,
                call,
                original_prompt,
                revised_prompt,
                key,
                media_type,
                bytes,
                made,
                cost_usd,
            } => {
                let usage = Usage { cost_usd: Some(*cost_usd), ..Usage::default() };
                self.spending.usage += usage;
                if let Some(active) = &mut self.active {
                    active.usage += usage;
                }
                self.place(
                    request,
                    call,
                    GeneratedImage {
                        id: image.clone(),
                        original_prompt: original_prompt.clone(),
                        revised_prompt: revised_prompt.clone(),
                        url: format!("ref:{key}"),
                        timestamp: made.millis(),
                        selected: self.is_selected(image),
                        media_type: media_type.clone(),
                        bytes: *bytes,
                        problem: None,
                    },
                );
            }
            ImageFact::Failed { image: Some(image), call, original_prompt, error, failed, .. } => {
                // What is there stays where a new one could not be made in its place.
                if self.picture(image).is_some_and(|there| there.problem.is_none()) {
                    return;
                }
                self.place(
                    request,
                    call,
                    GeneratedImage {
                        id: image.clone(),
                        original_prompt: original_prompt.clone(),
                        revised_prompt: None,
                        url: String::new(),
                        timestamp: failed.millis(),
                        selected: false,
                        media_type: String::new(),
                        bytes: 0,
                        problem: Some(error.clone()),
                    },
                );
            }
            ImageFact::Failed { call, .. } => {
                if let Some(item) = self.active.as_mut().and_then(|active| active.batch.as_mut()?.item_mut(call)) {
                    item.tries += 1;
                }
            }
            ImageFact::Selected { images, selected } => {
                for picture in self.gallery.iter_mut().filter(|picture| images.contains(&picture.image.id)) {
                    picture.image.selected = *selected;
                }
            }
        }
    }

    /// Pictures have no model that asks for them, so their calls are counted like one of its replies.
    fn begin_pictures(&mut self, tool: &str, calls: Vec<(serde_json::Value, ToolAction)>) {
        self.spending.calls += 1;
        let call = CallId::nth(self.spending.calls);
        let Some(active) = &mut self.active else { return };
        let tool_call = |(number, (input, action))| {
            let call = ToolCall { id: format!("{tool}-{number}"), name: tool.to_owned(), input, broken: None };
            (call, action)
        };
        active.batch = Batch::of_pictures(&call, (1..).zip(calls).map(tool_call));
        active.phase = Phase::Replied;
    }

    fn is_selected(&self, image: &ImageId) -> bool {
        self.picture(image).is_some_and(|there| there.selected)
    }

    /// Into its place: that of the one with its name, or behind those that were wished for before it.
    fn place(&mut self, request: Option<&RequestId>, call: &CallId, image: GeneratedImage) {
        let Some(request) = request.cloned() else { return };
        if let Some(there) = self.gallery.iter_mut().find(|picture| picture.image.id == image.id) {
            (there.image, there.request) = (image, request);
            return;
        }
        let batch = self.active.as_ref().and_then(|active| active.batch.as_ref());
        let number = batch.and_then(|batch| batch.items.iter().position(|item| item.call_id == *call)).unwrap_or(0);
        let order = (self.spending.calls, number);
        let at = self.gallery.partition_point(|picture| picture.order <= order);
        self.gallery.insert(at, SessionPicture { image, request, order });
    }
}
