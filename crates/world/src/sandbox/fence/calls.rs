//! The system calls that are refused.
//!
//! This is a denylist, because a command may be any program, and an allowlist of all that compilers, servers, and
//! test suites call would always be incomplete.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    sock_filter,
};

type SyscallRules = BTreeMap<i64, Vec<SeccompRule>>;

/// Calls that no build or test needs, and by which a fence could be taken down, another program be
/// controlled, or the kernel itself be attacked.
const NEVER: &[i64] = &[
    libc::SYS_acct,
    libc::SYS_add_key,
    libc::SYS_bpf,
    libc::SYS_chroot,
    libc::SYS_delete_module,
    libc::SYS_finit_module,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fsopen,
    libc::SYS_fspick,
    libc::SYS_init_module,
    // It would open sockets behind the filter's back.
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_io_uring_setup,
    libc::SYS_kexec_file_load,
    libc::SYS_kexec_load,
    libc::SYS_keyctl,
    libc::SYS_mount,
    libc::SYS_mount_setattr,
    libc::SYS_move_mount,
    libc::SYS_name_to_handle_at,
    libc::SYS_open_by_handle_at,
    libc::SYS_open_tree,
    libc::SYS_perf_event_open,
    libc::SYS_pidfd_getfd,
    libc::SYS_pivot_root,
    libc::SYS_process_madvise,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_ptrace,
    libc::SYS_quotactl,
    libc::SYS_reboot,
    libc::SYS_request_key,
    libc::SYS_setns,
    libc::SYS_swapoff,
    libc::SYS_swapon,
    libc::SYS_syslog,
    libc::SYS_umount2,
    libc::SYS_unshare,
    libc::SYS_userfaultfd,
    libc::SYS_vhangup,
];

/// The second face of the 64-bit calls on x86: same calls, this bit set.
#[cfg(target_arch = "x86_64")]
const X32: i64 = 0x4000_0000;

/// The refused calls that have other numbers there.
#[cfg(target_arch = "x86_64")]
const X32_OWN: &[(i64, i64)] = &[
    (libc::SYS_ioctl, 514),
    (libc::SYS_ptrace, 521),
    (libc::SYS_rt_sigqueueinfo, 524),
    (libc::SYS_kexec_load, 528),
    (libc::SYS_rt_tgsigqueueinfo, 536),
    (libc::SYS_process_vm_readv, 539),
    (libc::SYS_process_vm_writev, 540),
];

/// What a fence with namespaces itself calls until the command starts.
const LAST: &[i64] = &[libc::SYS_mount, libc::SYS_setns];

/// Installs the filter on this process, which has no namespaces. Its supervisor must stay out of reach.
pub(super) fn filter(supervisor: u32) -> Result<(), String> {
    install(rules(false, Some(supervisor)))
}

/// Installs all of the filter but the calls that the fence itself still needs. This takes the kernel its time, and can be
/// done before the order arrives. `loopback`: the network ends at the command, so it may be used.
pub(super) fn filter_most(loopback: bool) -> Result<(), String> {
    install(most_rules(loopback))
}

/// Installs the rest.
pub(super) fn filter_rest() -> Result<(), String> {
    install(Ok((last_rules(), SyscallRules::new())))
}

fn install(rules: Result<(SyscallRules, SyscallRules), seccompiler::BackendError>) -> Result<(), String> {
    let refused = |error: &dyn std::fmt::Display| format!("system calls cannot be filtered: {error}");
    let (refusals, absences) = rules.map_err(|error| refused(&error))?;
    let program = program(refusals, absences).map_err(|error| refused(&error))?;
    seccompiler::apply_filter(&program).map_err(|error| refused(&error))
}

fn last_rules() -> SyscallRules {
    let mut rules: SyscallRules = LAST.iter().map(|call| (*call, Vec::new())).collect();
    add_second_faces(&mut rules);
    rules
}

fn most_rules(loopback: bool) -> Result<(SyscallRules, SyscallRules), seccompiler::BackendError> {
    let (mut refusals, absences) = rules(loopback, None)?;
    refusals.retain(|call, _| !last_rules().contains_key(call));
    Ok((refusals, absences))
}

/// One program for all rules: those of `refusals` end with EPERM, those of `absences` with ENOSYS.
fn program(refusals: SyscallRules, absences: SyscallRules) -> Result<BpfProgram, seccompiler::BackendError> {
    let mut blocks = BTreeMap::new();
    for (rules, errno) in [(refusals, libc::EPERM), (absences, libc::ENOSYS)] {
        let always = instruction(RETURN, 0, 0, refusal(errno).into());
        for (call, rules) in rules {
            let block = match rules.is_empty() {
                true => vec![always.clone()],
                false => compiled(BTreeMap::from([(call, rules)]), errno)?,
            };
            blocks.insert(call, block);
        }
    }
    // Nothing but the check of the architecture, which ends with a permission.
    let mut program = compiled(SyscallRules::new(), libc::EPERM)?;
    program.pop();
    program.push(instruction(LOAD, 0, 0, NUMBER));
    program.extend(search(&blocks.into_iter().collect::<Vec<_>>()));
    Ok(program)
}

fn compiled(rules: SyscallRules, errno: i32) -> Result<BpfProgram, seccompiler::BackendError> {
    SeccompFilter::new(rules, SeccompAction::Allow, refusal(errno), std::env::consts::ARCH.try_into()?)?.try_into()
}

fn refusal(errno: i32) -> SeccompAction {
    SeccompAction::Errno(u32::try_from(errno).unwrap_or(1))
}

/// Loads a word of what the kernel tells about a call; returns; jumps ahead; compares what is loaded.
const LOAD: u16 = 0x20;
const RETURN: u16 = 0x06;
const JUMP: u16 = 0x05;
const IF_EQUAL: u16 = 0x15;
const IF_AT_LEAST: u16 = 0x35;

/// Where the kernel tells the number of the call.
const NUMBER: u32 = 0;

/// So few are compared one after the other.
const FEW: usize = 3;

/// Finds the program of a call by halves. The kernel tries a new filter with the number of every call that there is, so
/// a list that is searched from its beginning takes it as long as a dozen mounts.
fn search(blocks: &[(i64, BpfProgram)]) -> BpfProgram {
    let (lower, upper) = blocks.split_at(blocks.len() / 2);
    let Some((middle, _)) = upper.first().filter(|_| blocks.len() > FEW) else {
        let mut program = Vec::new();
        for (call, block) in blocks {
            program.push(instruction(IF_EQUAL, 1, 0, number(*call)));
            program.push(instruction(JUMP, 0, 0, length(block)));
            program.extend_from_slice(block);
        }
        program.push(instruction(RETURN, 0, 0, SeccompAction::Allow.into()));
        return program;
    };
    let lower = search(lower);
    let mut program = vec![instruction(IF_AT_LEAST, 0, 1, number(*middle)), instruction(JUMP, 0, 0, length(&lower))];
    program.extend(lower);
    program.extend(search(upper));
    program
}

fn instruction(code: u16, jt: u8, jf: u8, k: u32) -> sock_filter {
    sock_filter { code, jt, jf, k }
}

fn number(call: i64) -> u32 {
    u32::try_from(call).unwrap_or(u32::MAX)
}

/// The kernel takes no program that is longer than a few thousand instructions.
fn length(program: &[sock_filter]) -> u32 {
    u32::try_from(program.len()).unwrap_or(u32::MAX)
}

/// All rules. `supervisor`: its number, if the command has no process namespace in which it has none.
fn rules(network: bool, supervisor: Option<u32>) -> Result<(SyscallRules, SyscallRules), seccompiler::BackendError> {
    let mut rules: SyscallRules = NEVER.iter().map(|call| (*call, Vec::new())).collect();
    // Sockets in the file system lead to programs outside: agents, containers, the session's bus. What
    // is inside can talk through pairs and pipes, and through the network if that ends at the command.
    let families: &[i32] = if network { &[libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK] } else { &[] };
    let others =
        families.iter().map(|family| is(0, SeccompCmpOp::Ne, as_word(*family))).collect::<Result<Vec<_>, _>>()?;
    rules.insert(libc::SYS_socket, if others.is_empty() { Vec::new() } else { vec![SeccompRule::new(others)?] });
    // One end of a pair of these can be connected elsewhere, to any service that takes single messages, such as the
    // system's log. Pairs of the other kinds cannot. The last four bits are the kind.
    let kinds = [libc::SOCK_DGRAM, libc::SOCK_RAW].map(|kind| rule(1, SeccompCmpOp::MaskedEq(0xf), as_word(kind)));
    rules.insert(libc::SYS_socketpair, kinds.into_iter().collect::<Result<_, _>>()?);
    // Typing into a terminal as if the user did.
    let typing = [libc::TIOCSTI, libc::TIOCLINUX].map(|request| rule(1, SeccompCmpOp::Eq, request & 0xffff_ffff));
    rules.insert(libc::SYS_ioctl, typing.into_iter().collect::<Result<_, _>>()?);
    let new_user = libc::CLONE_NEWUSER as u64;
    rules.insert(libc::SYS_clone, vec![rule(0, SeccompCmpOp::MaskedEq(new_user), new_user)?]);
    if let Some(supervisor) = supervisor {
        refuse_others(&mut rules, supervisor)?;
    }
    // Its flags are in memory, which a filter cannot read. A C library that gets ENOSYS uses the older call.
    let mut absent: SyscallRules = BTreeMap::from([(libc::SYS_clone3, Vec::new())]);
    for rules in [&mut rules, &mut absent] {
        add_second_faces(rules);
    }
    Ok((rules, absent))
}

/// Refuses what programs do to others by their numbers. In a process namespace others have none, and the number that
/// the supervisor has outside is that of one of the command's own.
fn refuse_others(rules: &mut SyscallRules, supervisor: u32) -> Result<(), seccompiler::BackendError> {
    // Landlock keeps signals inside only since Linux 6.12. Before that, the supervisor must be out of reach too,
    // because it does the killing. -1 is everyone, and a negative number is a group.
    let supervisor = i32::try_from(supervisor).unwrap_or(i32::MAX);
    let reach = |targets: &[i32]| -> Result<Vec<SeccompRule>, _> {
        targets.iter().map(|pid| rule(0, SeccompCmpOp::Eq, as_word(*pid))).collect()
    };
    rules.insert(libc::SYS_kill, reach(&[supervisor, -supervisor, -1])?);
    for call in [libc::SYS_tkill, libc::SYS_tgkill, libc::SYS_rt_sigqueueinfo, libc::SYS_rt_tgsigqueueinfo] {
        rules.insert(call, reach(&[supervisor])?);
    }
    rules.insert(libc::SYS_pidfd_open, reach(&[supervisor])?);
    // Nothing else asks whether it may lower the limits of the user's other programs, which can end them. Their
    // own, programs name by 0.
    let other = is(0, SeccompCmpOp::Ne, 0)?;
    let change = SeccompCondition::new(2, SeccompCmpArgLen::Qword, SeccompCmpOp::Ne, 0)?;
    rules.insert(libc::SYS_prlimit64, vec![SeccompRule::new(vec![other, change])?]);
    // The same for how much of the machine others get. Their own, programs name by 0; `which` is a process or a group.
    let others = is(0, SeccompCmpOp::Ne, 0)?;
    for call in
        [libc::SYS_sched_setaffinity, libc::SYS_sched_setattr, libc::SYS_sched_setparam, libc::SYS_sched_setscheduler]
    {
        rules.insert(call, vec![SeccompRule::new(vec![others.clone()])?]);
    }
    for call in [libc::SYS_setpriority, libc::SYS_ioprio_set] {
        rules.insert(call, vec![rule(1, SeccompCmpOp::Ne, 0)?]);
    }
    Ok(())
}

#[cfg(target_arch = "x86_64")]
fn add_second_faces(rules: &mut SyscallRules) {
    let own = |call: i64| X32_OWN.iter().find(|(known, _)| *known == call).map_or(call, |(_, own)| *own);
    let second: SyscallRules = rules.iter().map(|(call, rules)| (own(*call) | X32, rules.clone())).collect();
    rules.extend(second);
}

#[cfg(not(target_arch = "x86_64"))]
fn add_second_faces(_rules: &mut SyscallRules) {}

fn rule(argument: u8, op: SeccompCmpOp, value: u64) -> Result<SeccompRule, seccompiler::BackendError> {
    SeccompRule::new(vec![is(argument, op, value)?])
}

fn is(argument: u8, op: SeccompCmpOp, value: u64) -> Result<SeccompCondition, seccompiler::BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, op, value)
}

/// The kernel looks at the lower half of the word only.
fn as_word(value: i32) -> u64 {
    u64::from(value.cast_unsigned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The kernel's data about a call.
    struct Call {
        architecture: u32,
        number: u32,
        arguments: [u64; 6],
    }

    impl Call {
        /// The word at an offset, as the kernel lays it out.
        fn word(&self, at: u32) -> u32 {
            let mut bytes = Vec::new();
            bytes.extend(self.number.to_le_bytes());
            bytes.extend(self.architecture.to_le_bytes());
            bytes.extend(0_u64.to_le_bytes());
            bytes.extend(self.arguments.iter().flat_map(|argument| argument.to_le_bytes()));
            let at = usize::try_from(at).unwrap();
            u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
        }
    }

    /// What a program answers, and after how many instructions.
    fn run(program: &[sock_filter], call: &Call) -> (u32, usize) {
        let (mut at, mut loaded, mut steps) = (0, 0, 0);
        loop {
            let one = &program[at];
            steps += 1;
            at += 1;
            let chosen = |is: bool| usize::from(if is { one.jt } else { one.jf });
            match one.code {
                LOAD => loaded = call.word(one.k),
                RETURN => return (one.k, steps),
                JUMP => at += usize::try_from(one.k).unwrap(),
                IF_EQUAL => at += chosen(loaded == one.k),
                IF_AT_LEAST => at += chosen(loaded >= one.k),
                0x25 => at += chosen(loaded > one.k),
                0x54 => loaded &= one.k,
                code => panic!("the instruction {code:#x} is not known"),
            }
        }
    }

    fn calls() -> impl Iterator<Item = Call> {
        let arguments = [0, 1, 2, 3, 16, 0x5412, 0x541c, 77, u64::from(77_u32.wrapping_neg()), u64::MAX, 0x1000_0000];
        let numbers = (0..700).chain(0x4000_0000..0x4000_02bc);
        numbers.flat_map(move |number| {
            arguments.into_iter().flat_map(move |one| {
                [[one; 6], [one, 2, 0, 0, 0, 0], [2, one, 0, 0, 0, 0], [5, 0, one, 0, 0, 0]].map(|arguments| Call {
                    architecture: 0,
                    number,
                    arguments,
                })
            })
        })
    }

    #[test]
    fn a_search_by_halves_answers_as_a_list_does_and_sooner() {
        for (supervisor, network) in [(None, true), (None, false), (Some(77), false)] {
            let (refusals, absences) = rules(network, supervisor).unwrap();
            let quick = program(refusals.clone(), absences.clone()).unwrap();
            let lists = [compiled(refusals, libc::EPERM).unwrap(), compiled(absences, libc::ENOSYS).unwrap()];
            let architecture = lists[0][1].k;
            let allowed = u32::from(SeccompAction::Allow);
            for call in calls().map(|call| Call { architecture, ..call }) {
                // Of two filters, the one that refuses counts.
                let listed = lists.each_ref().map(|list| run(list, &call).0);
                let listed = listed.into_iter().find(|answer| *answer != allowed).unwrap_or(allowed);
                let (answer, steps) = run(&quick, &call);
                assert_eq!(answer, listed, "call {} with {:?}", call.number, call.arguments);
                assert!(answer != allowed || steps < 40, "call {} takes {steps} instructions", call.number);
            }
            // In two parts it answers the same.
            let (most, never) = most_rules(network).unwrap();
            let parts = [program(most, never).unwrap(), program(last_rules(), SyscallRules::new()).unwrap()];
            for call in calls().map(|call| Call { architecture, ..call }).filter(|_| supervisor.is_none()) {
                let parts = parts.each_ref().map(|part| run(part, &call).0);
                let parts = parts.into_iter().find(|answer| *answer != allowed).unwrap_or(allowed);
                assert_eq!(parts, run(&quick, &call).0, "call {} with {:?}", call.number, call.arguments);
            }
            let foreign = Call { architecture: architecture ^ 1, number: 0, arguments: [0; 6] };
            assert_eq!(run(&quick, &foreign).0, u32::from(SeccompAction::KillProcess));
        }
    }
}
