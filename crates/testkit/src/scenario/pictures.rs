//! The scripted model at the easel: what its prompt says decides how it fares.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Notify;
use trimtab_vocab::{Fault, Problem, ProblemKind, Retry};
use trimtab_world::models::{DrawOrder, DrawnImage};

/// What was drawn, in the order in which it was ordered.
#[derive(Clone, Default)]
pub(super) struct Easel(Arc<Mutex<Vec<String>>>);

impl Easel {
    /// A picture for each that is ordered. Of a prompt with `BUSY` the first order may be tried again, `BROKEN`
    /// fails for good, `SLOW` does not come at the first order, and `FEW` brings one picture too few.
    pub(super) async fn draw(&self, order: &DrawOrder, silent: &Notify) -> Result<Vec<DrawnImage>, Fault> {
        let before = {
            let mut drawn = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let before = drawn.iter().filter(|prompt| **prompt == order.prompt).count();
            drawn.push(order.prompt.clone());
            before
        };
        let fault = |kind, message, retry| Fault { problem: Problem::new(kind, message), retry };
        if order.prompt.contains("BROKEN") {
            return Err(fault(ProblemKind::Refused, "The provider refuses this picture.", Retry::Never));
        }
        if order.prompt.contains("BUSY") && before == 0 {
            return Err(fault(ProblemKind::RateLimited, "Too fast.", Retry::Later { after_ms: Some(1) }));
        }
        if order.prompt.contains("SLOW") && before == 0 {
            silent.notify_one();
            std::future::pending::<()>().await;
        }
        let count = if order.prompt.contains("FEW") { order.count - 1 } else { order.count };
        let picture = |number: u32| DrawnImage {
            bytes: format!("GIF89a{} {number} {before}", order.prompt).into_bytes(),
            media_type: "image/gif",
            revised_prompt: Some(format!("{}, in oil", order.prompt)),
        };
        Ok((0..count).map(picture).collect())
    }

    /// What was ordered, a line each.
    pub(super) fn report(&self) -> String {
        let drawn = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut lines: Vec<String> = drawn.iter().map(|prompt| format!("{prompt}\n")).collect();
        lines.sort();
        if lines.is_empty() { String::new() } else { format!("--- ordered\n{}", lines.concat()) }
    }
}

/// Names of pictures hold chance: they are numbered in the order of the calls that made them, which may end in any.
pub(super) fn numbered(text: String) -> String {
    let mut names: Vec<((u64, u64), String)> = Vec::new();
    for line in text.lines().filter(|line| line.contains(" image.made {") || line.contains(" image.failed {")) {
        let field = |name: &str| Some(line.split_once(&format!("\"{name}\":\""))?.1.split('"').next()?.to_owned());
        let (Some(call), Some(name)) = (field("call"), field("image")) else { continue };
        let order = call.strip_prefix('c').and_then(|call| call.split_once('t'));
        let order = order.map_or((0, 0), |(call, tool)| (call.parse().unwrap_or(0), tool.parse().unwrap_or(0)));
        if !names.iter().any(|(_, known)| *known == name) {
            names.push((order, name));
        }
    }
    names.sort_by_key(|(order, _)| *order);
    let numbered = |text: String, (number, (_, name)): (usize, &((u64, u64), String))| {
        text.replace(name.as_str(), &format!("img{number}"))
    };
    (1..).zip(&names).fold(text, numbered)
}
