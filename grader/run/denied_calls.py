"""System calls that are refused in the sandbox, by name; a name that a processor does not know is passed over."""

from __future__ import annotations

DENIED = (
    # Processes and threads: a graded function runs alone, so there is nothing to bound and nothing to leave running.
    # (A limit of processes does not bind root, and grading in a container is often done as root.)
    *("fork", "vfork", "clone", "clone3"),
    # Other processes
    *("ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "process_mrelease", "kcmp"),
    *("pidfd_open", "pidfd_getfd", "pidfd_send_signal", "migrate_pages", "move_pages"),
    # Network, and memory or messages that outlive a process or escape its limits
    *("socket", "shmget", "shmat", "shmctl", "semget", "msgget", "mq_open", "memfd_create", "memfd_secret", "ipc"),
    # Mounts, namespaces, files by handle
    *("mount", "umount", "umount2", "pivot_root", "chroot", "mount_setattr", "move_mount", "open_tree", "fsopen"),
    *("fsconfig", "fsmount", "fspick", "unshare", "setns", "open_by_handle_at", "name_to_handle_at"),
    # Parts of the kernel that exercises never need and attacks on it often do
    *("bpf", "perf_event_open", "userfaultfd", "io_uring_setup", "io_uring_enter", "io_uring_register"),
    *("add_key", "request_key", "keyctl", "fanotify_init", "lookup_dcookie", "personality", "modify_ldt"),
    *("landlock_create_ruleset", "vm86", "vm86old", "iopl", "ioperm", "nfsservctl"),
    # The machine itself
    *("kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module", "reboot", "swapon", "swapoff"),
    *("acct", "quotactl", "quotactl_fd", "syslog", "settimeofday", "clock_settime", "clock_settime64", "stime"),
    *("clock_adjtime", "clock_adjtime64", "adjtimex", "sethostname", "setdomainname", "_sysctl", "uselib"),
)
