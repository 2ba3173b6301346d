// Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0

package slot

import (
	"golang.org/x/sys/unix"
)

// refused are the system calls a slot has no use for and an intruder would:
// to reach the network or another process, to start a program, to get memory
// that is not counted, to change the machine. Each answers EPERM, so that what
// only tries something goes on without it.
var refused = append([]uint32{
	// sockets; the one to the replica is there already
	unix.SYS_SOCKET, unix.SYS_SOCKETPAIR, unix.SYS_CONNECT, unix.SYS_BIND, unix.SYS_LISTEN, unix.SYS_ACCEPT, unix.SYS_ACCEPT4,
	// programs
	unix.SYS_EXECVE, unix.SYS_EXECVEAT,
	// other processes
	unix.SYS_KILL, unix.SYS_TKILL, unix.SYS_RT_SIGQUEUEINFO, unix.SYS_RT_TGSIGQUEUEINFO, unix.SYS_PTRACE,
	unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PROCESS_MADVISE, unix.SYS_PIDFD_OPEN, unix.SYS_PIDFD_GETFD,
	unix.SYS_PIDFD_SEND_SIGNAL, unix.SYS_KCMP, unix.SYS_SETPRIORITY, unix.SYS_SETPGID, unix.SYS_SETSID,
	// memory that is not counted, and queues
	unix.SYS_MEMFD_CREATE, unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_SHMCTL, unix.SYS_MSGGET, unix.SYS_SEMGET, unix.SYS_MQ_OPEN,
	// ways around this filter, and into the kernel
	unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER, unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN,
	unix.SYS_USERFAULTFD, unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_FANOTIFY_INIT,
	// files by other ways than their path, and the machine
	unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_NAME_TO_HANDLE_AT, unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT,
	unix.SYS_OPEN_TREE, unix.SYS_MOVE_MOUNT, unix.SYS_FSOPEN, unix.SYS_UNSHARE, unix.SYS_SETNS, unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME,
	unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_KEXEC_LOAD, unix.SYS_REBOOT, unix.SYS_SWAPON, unix.SYS_SWAPOFF,
	unix.SYS_ACCT, unix.SYS_QUOTACTL, unix.SYS_SYSLOG, unix.SYS_CLOCK_SETTIME, unix.SYS_SETTIMEOFDAY, unix.SYS_ADJTIMEX, unix.SYS_PERSONALITY,
	// limits and identity
	unix.SYS_SETRLIMIT, unix.SYS_SETUID, unix.SYS_SETGID, unix.SYS_SETRESUID, unix.SYS_SETRESGID, unix.SYS_SETGROUPS, unix.SYS_CAPSET,
}, refusedHere...)

// Parts of struct seccomp_data.
const (
	dataCall = 0
	dataArch = 4
	dataArgs = 16 // 8 bytes each, the low half first on the machines we run on
)

const (
	allow  = unix.SECCOMP_RET_ALLOW
	eperm  = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	enosys = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
	// foreign is what a call by another machine's numbers gets.
	foreign = unix.SECCOMP_RET_KILL_PROCESS
)

// filter is the program for a process of that number.
func filter(pid uint32) []unix.SockFilter {
	p := program{}
	p.load(dataArch)
	p.unless(machine, foreign)
	p.load(dataCall)
	p.from(firstForeign, foreign)
	for _, call := range refused {
		p.when(call, eperm)
	}
	// glibc makes threads with clone where clone3, whose flags a filter cannot
	// see, is missing. Without CLONE_THREAD it is a fork.
	p.when(unix.SYS_CLONE3, enosys)
	p.argument(unix.SYS_CLONE, 0, func(p *program) { p.without(unix.CLONE_THREAD, eperm) })
	// A process may signal its own threads, as Go does all the time.
	p.argument(unix.SYS_TGKILL, 0, func(p *program) { p.unless(pid, eperm) })
	// prlimit may ask, not set.
	p.argument(unix.SYS_PRLIMIT64, 2, func(p *program) { p.unless(0, eperm) })
	p.argumentHigh(unix.SYS_PRLIMIT64, 2, func(p *program) { p.unless(0, eperm) })
	p.answer(allow)
	return p.code
}

// program is a filter under construction.
type program struct{ code []unix.SockFilter }

func (p *program) add(code uint16, k uint32, yes, no uint8) {
	p.code = append(p.code, unix.SockFilter{Code: code, K: k, Jt: yes, Jf: no})
}

func (p *program) load(offset uint32)  { p.add(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, offset, 0, 0) }
func (p *program) answer(value uint32) { p.add(unix.BPF_RET|unix.BPF_K, value, 0, 0) }

// when answers if the loaded word is k.
func (p *program) when(k, answer uint32) {
	p.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, k, 0, 1)
	p.answer(answer)
}

// unless answers if the loaded word is not k.
func (p *program) unless(k, answer uint32) {
	p.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, k, 1, 0)
	p.answer(answer)
}

// from answers if the loaded word is k or more.
func (p *program) from(k, answer uint32) {
	p.add(unix.BPF_JMP|unix.BPF_JGE|unix.BPF_K, k, 0, 1)
	p.answer(answer)
}

// without answers if none of the bits is set in the loaded word.
func (p *program) without(bits, answer uint32) {
	p.add(unix.BPF_JMP|unix.BPF_JSET|unix.BPF_K, bits, 1, 0)
	p.answer(answer)
}

// argument judges the low half of an argument of a call, whose number is
// loaded before and after.
func (p *program) argument(call uint32, index uint32, judge func(*program)) {
	p.word(call, dataArgs+8*index, judge)
}

func (p *program) argumentHigh(call uint32, index uint32, judge func(*program)) {
	p.word(call, dataArgs+8*index+4, judge)
}

func (p *program) word(call, offset uint32, judge func(*program)) {
	inner := program{}
	inner.load(offset)
	judge(&inner)
	inner.load(dataCall)
	p.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, call, 0, uint8(len(inner.code)))
	p.code = append(p.code, inner.code...)
}
