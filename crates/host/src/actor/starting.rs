//! Starts effects: each becomes a task of the actor.

use std::sync::Arc;

use tokio::sync::mpsc;
use trimtab_engine::Effect;
use trimtab_vocab::{CallId, RequestId};

use super::{ANSWERS, Actor};
use crate::{StreamController, assistant, effects, tools, workers};

impl Actor {
    /// Whether another process should run this request: this process has finished its own and is about to leave, so
    /// it would cut off a call that starts now.
    fn is_for_others(&self, request: &RequestId) -> bool {
        let Some(own) = self.deps.roster.own_request(self.reporter.lease.session()) else { return false };
        let is_active = self.session.active().is_some_and(|active| active.request.id == own);
        let waits = self.session.waiting().any(|waiting| waiting.id == own);
        *request != own && self.session.knows(&own) && !is_active && !waits
    }

    /// Begins what the engine asks for.
    pub(super) fn start(&mut self, effect: Effect) {
        let (deps, reporter) = (Arc::clone(&self.deps), self.reporter.clone());
        match effect {
            Effect::Admit { request } if self.is_for_others(&request) => self.has_declined = true,
            Effect::Admit { request } => {
                if self.asked.insert(request.clone()) {
                    let wait = self.tasks.spawn(effects::admit(deps, reporter, request.clone()));
                    self.waits.entry(request).or_default().push(wait);
                }
            }
            Effect::Wait { request, timer, millis } => {
                let wait = self.tasks.spawn(effects::wait(reporter, timer, millis));
                self.waits.entry(request).or_default().push(wait);
            }
            Effect::CallModel { request, call, prompt, prices, cache_s, repeats } => {
                let controller = StreamController::new();
                self.calls.insert(call.clone(), controller.clone());
                // Under a new owner, a request continues in the middle and must get a slot like any other.
                let has_room = self.admitted.contains(&request);
                let order = effects::ModelCall { request, call, prompt, prices, has_room, cache_s, repeats };
                self.tasks.spawn(effects::call_model(deps, reporter, order, controller));
            }
            Effect::Title { request, prompt } => {
                // Not among the waits of the request: a name may come after its end.
                self.tasks.spawn(effects::title(deps, reporter, request, prompt));
            }
            Effect::Load { request, files, marked, urls, instructions, overview, servers } => {
                let Some(folder) = self.session.folder().map(str::to_owned) else { return };
                // A wait that began before the answer is obsolete.
                self.waits.remove(&request).into_iter().flatten().for_each(|wait| wait.abort());
                let wait = self.tasks.spawn(tools::load(
                    deps,
                    reporter,
                    request.clone(),
                    folder,
                    tools::Named { files, marked, urls, instructions, overview, servers },
                ));
                self.waits.entry(request).or_default().push(wait);
            }
            Effect::Read { request, call, op } => self.start_tool(request, call, tools::ToolWork::Read(op)),
            Effect::ListServers { request, call } => self.start_tool(request, call, tools::ToolWork::ListServers),
            Effect::CallServer { request, call, plan } => {
                self.start_tool(request, call, tools::ToolWork::CallServer(plan));
            }
            Effect::Draw { request, call, model, prompt, count, after_ms } => {
                self.start_tool(request, call, tools::ToolWork::Draw { model, prompt, count, after_ms });
            }
            Effect::Recall { request, call, of, key, offset, limit } => {
                self.start_tool(request, call, tools::ToolWork::Recall { of, key, offset, limit });
            }
            Effect::Prepare { request, call, change, seen } => {
                self.start_tool(request, call, tools::ToolWork::Prepare { change, seen })
            }
            Effect::SelectHunks { request, call, writes, parts } => {
                self.start_tool(request, call, tools::ToolWork::SelectHunks { writes, parts })
            }
            Effect::Apply { request, call, plan } => self.start_tool(request, call, tools::ToolWork::Apply(plan)),
            Effect::Compare { ways, on_conflict } => {
                let folder = self.session.folder().unwrap_or_default().to_owned();
                self.tasks.spawn(tools::compare(deps, reporter, folder, ways, on_conflict));
            }
            Effect::Restore { plan } => {
                self.tasks.spawn(tools::restore(deps, reporter, plan));
            }
            Effect::Run { request, call, plan, watch } => {
                let (sender, overtime) = mpsc::channel(ANSWERS);
                self.overtimes.insert(call.clone(), sender);
                self.start_tool(request, call, tools::ToolWork::Run { plan, watch, overtime });
            }
            Effect::InspectEffects { request, call, watch } => {
                self.start_tool(request, call, tools::ToolWork::InspectEffects(watch))
            }
            Effect::Overtime { call, overtime } => {
                // There is one answer to a question, and a command asks one at a time.
                if let Some(command) = self.overtimes.get(&call) {
                    let _ = command.try_send(overtime);
                }
            }
            Effect::ViewTasks { request, wanted, settings } => {
                let op = self.tasks.spawn(assistant::view(deps, reporter, request.clone(), wanted, *settings));
                self.waits.entry(request).or_default().push(op);
            }
            Effect::JudgeTasks { request, operations, settings } => {
                let trial = self.tasks.spawn(assistant::judge(deps, reporter, request.clone(), operations, *settings));
                self.waits.entry(request).or_default().push(trial);
            }
            Effect::StartWorker(order) => {
                self.tasks.spawn(workers::start(deps, reporter, order));
            }
            Effect::DropWorker { worker, folder } => {
                // Not among the tasks of this actor, which may have nothing else to do and end before the copy is gone.
                drop(tokio::spawn(workers::drop_copy(deps, worker, folder)));
            }
            Effect::Abort { call } => {
                if let Some(controller) = self.calls.remove(&call) {
                    controller.abort();
                }
            }
        }
    }

    fn start_tool(&mut self, request: RequestId, call: CallId, work: tools::ToolWork) {
        let Some(folder) = self.session.folder() else { return };
        let controller = StreamController::new();
        // After a rest a look may begin again that was still under way.
        if let Some(earlier) = self.calls.insert(call.clone(), controller.clone()) {
            earlier.abort();
        }
        let has_room = self.admitted.contains(&request);
        let order = tools::ToolOrder { request, call, folder: folder.to_owned(), work, has_room };
        self.tasks.spawn(tools::carry_out(Arc::clone(&self.deps), self.reporter.clone(), order, controller));
    }
}
