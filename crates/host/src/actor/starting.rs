//! Starts effects: each becomes a task of the actor.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use trimtab_engine::{BackgroundWait, Effect};
use trimtab_vocab::{CallId, CommandPlan, Overtime, RequestId, SnapshotLimits};

use super::{ANSWERS, Actor, CommandControls};
use crate::commands::{self, CommandStart};
use crate::hooks::HookStart;
use crate::{StreamController, assistant, effects, tools, workers};

/// How long a background command may take to end once it was asked to.
const END_PATIENCE: Duration = Duration::from_secs(3);

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
            Effect::Admit { request } => self.start_admission(request),
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
            Effect::Load {
                request,
                files,
                marked,
                urls,
                resources,
                instructions,
                overview,
                servers,
                skills,
                agents,
            } => {
                let named =
                    tools::Named { files, marked, urls, resources, instructions, overview, servers, skills, agents };
                self.start_load(request, named);
            }
            Effect::Read { request, call, op } => self.start_tool(request, call, tools::ToolWork::Read(op)),
            effect @ (Effect::ReadSkill { .. }
            | Effect::ReadAgents { .. }
            | Effect::ListServers { .. }
            | Effect::CallServer { .. }
            | Effect::AnswerServer { .. }) => self.start_for_extension(effect),
            Effect::RunHook { request, run, plan, watch, hook } => {
                let start = HookStart { plan, watch, hook: *hook };
                self.start_tool(request, run, tools::ToolWork::Hook(Box::new(start)));
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
            effect @ (Effect::Run { .. }
            | Effect::Detach { .. }
            | Effect::EndBackground { .. }
            | Effect::ReadOutput { .. }
            | Effect::InspectBackground { .. }
            | Effect::Overtime { .. }) => self.start_for_command(effect),
            Effect::InspectEffects { request, call, watch } => {
                self.start_tool(request, call, tools::ToolWork::InspectEffects(watch))
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
                self.deps.endings.spawn(workers::drop_copy(deps, worker, folder));
            }
            Effect::Abort { call } => {
                if let Some(controller) = self.calls.remove(&call) {
                    controller.abort();
                }
            }
        }
    }

    /// Waits for a slot, once for each request.
    fn start_admission(&mut self, request: RequestId) {
        if self.asked.insert(request.clone()) {
            let (deps, reporter) = (Arc::clone(&self.deps), self.reporter.clone());
            let wait = self.tasks.spawn(effects::admit(deps, reporter, request.clone()));
            self.waits.entry(request).or_default().push(wait);
        }
    }

    fn start_load(&mut self, request: RequestId, named: tools::Named) {
        let Some(folder) = self.session.folder().map(str::to_owned) else { return };
        // A wait that began before the answer is obsolete.
        self.waits.remove(&request).into_iter().flatten().for_each(|wait| wait.abort());
        let (deps, reporter) = (Arc::clone(&self.deps), self.reporter.clone());
        let wait = self.tasks.spawn(tools::load(deps, reporter, request.clone(), folder, named));
        self.waits.entry(request).or_default().push(wait);
    }

    /// Begins what concerns a skill, an agent, or an MCP server.
    fn start_for_extension(&mut self, effect: Effect) {
        match effect {
            Effect::ReadSkill { request, call, skill, file } => {
                // A worker's copy is not the folder that has the skill.
                let folder = self.session.rules_folder().unwrap_or_default().to_owned();
                self.start_tool(request, call, tools::ToolWork::ReadSkill { folder, skill, file });
            }
            Effect::ReadAgents { request, call, agents } => {
                self.start_tool(request, call, tools::ToolWork::ReadAgents(agents));
            }
            Effect::ListServers { request, call } => self.start_tool(request, call, tools::ToolWork::ListServers),
            Effect::CallServer { request, call, plan } => {
                let (sender, replies) = mpsc::channel(1);
                self.server_calls.retain(|_, sender| !sender.is_closed());
                self.server_calls.insert(call.clone(), sender);
                self.start_tool(request, call, tools::ToolWork::CallServer { plan, replies });
            }
            Effect::AnswerServer { call, reply } => {
                // A call asks one question at a time.
                if let Some(replies) = self.server_calls.get(&call) {
                    let _ = replies.try_send(reply);
                }
            }
            _ => {}
        }
    }

    /// Begins what concerns a command.
    fn start_for_command(&mut self, effect: Effect) {
        match effect {
            Effect::Run { request, call, plan, watch, background } => {
                self.start_command(request, call, plan, watch, background)
            }
            Effect::Detach { call, why } => {
                if let Some(command) = self.commands.get(&call) {
                    // In this order: what is in the background has no time limit.
                    let _ = command.overtime.try_send(Overtime::Unlimited);
                    let _ = command.detach.try_send(why);
                }
            }
            Effect::EndBackground { call } => self.end_background(&call),
            Effect::ReadOutput { request, call, of, id, stored, since, limit } => {
                self.start_tool(request, call, tools::ToolWork::ReadOutput { of, id, stored, since, limit });
            }
            Effect::InspectBackground { call, watch } => {
                let Some(folder) = self.session.folder().map(str::to_owned) else { return };
                self.tasks.spawn(commands::inspect_background(
                    Arc::clone(&self.deps),
                    self.reporter.clone(),
                    call,
                    folder,
                    watch,
                ));
            }
            Effect::Overtime { call, overtime } => {
                // There is one answer to a question, and a command asks one at a time.
                if let Some(command) = self.commands.get(&call) {
                    let _ = command.overtime.try_send(overtime);
                }
            }
            _ => {}
        }
    }

    fn start_command(
        &mut self,
        request: RequestId,
        call: CallId,
        plan: CommandPlan,
        watch: Option<SnapshotLimits>,
        background: Option<BackgroundWait>,
    ) {
        let (overtime_sender, overtime) = mpsc::channel(ANSWERS);
        let (detach_sender, detach) = mpsc::channel(1);
        if background.is_some() {
            let _ = overtime_sender.try_send(Overtime::Unlimited);
        }
        let start = CommandStart { plan, watch, overtime, detach, background };
        self.start_tool(request, call.clone(), tools::ToolWork::Run(Box::new(start)));
        if let Some(stop) = self.calls.get(&call).cloned() {
            let controls = CommandControls { overtime: overtime_sender, detach: detach_sender, stop };
            self.commands.insert(call, controls);
        }
    }

    /// Asks a background command to end, and ends it if it does not.
    fn end_background(&self, call: &CallId) {
        let Some(command) = self.commands.get(call) else { return };
        let _ = command.overtime.try_send(Overtime::None);
        let stop = command.stop.clone();
        // Not among the tasks of this actor, which must not stay for it.
        drop(tokio::spawn(async move {
            tokio::time::sleep(END_PATIENCE).await;
            stop.abort();
        }));
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
