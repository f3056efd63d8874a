// Flagstaff is the program: the standalone server, and a tool for people who work with
// flags.
//
//	flagstaff serve -demo                       a server with a demo project
//	flagstaff check flags.json                  faults, with their lines
//	flagstaff explain flags.json beta user-1    how a flag gets its value
//	flagstaff diff old.json new.json            for whom a change changes values
//	flagstaff gen -o flags_gen.go flags.json    Go code by which a program asks for flags
//	flagstaff vet -flags flags.json ./...       wrong uses of flags in Go code
//	flagstaff prune -flags flags.json beta      Go code without a flag that is on for all
//	flagstaff flag rollout new-checkout 50      for how many a flag is on
//	flagstaff import -from https://…            the flags of another server
//	flagstaff apply -dry-run flags.json         what a file would change on a server
//	flagstaff export events -o events.ndjson    what the server has captured
//	flagstaff backup flagstaff-1.db             a copy of the store of a running server
//	flagstaff help                              all commands
//
// Options may have one hyphen or two, and stand before or after arguments; "--" ends
// them. With -json a command prints JSON for programs; without it, what is printed is
// for people, without colours, and the same on a terminal and in a pipe. Reports go to
// standard output, everything else to standard error.
//
// The exit code is 0 if all is well, 1 if a command has found what it looks for, such
// as a fault, or has failed, 2 if it was called wrongly, and 3 if a dry run of apply would
// change something.
//
// Commands that talk to a server take its address from -url or FLAGSTAFF_URL, and the
// ID of a project from -project or FLAGSTAFF_PROJECT. The personal API key comes from
// FLAGSTAFF_KEY alone: the arguments of a program are visible to every user of a
// machine, and shells write them to a file.
//
// # How a command is added
//
// The commands that work without the server's modules, and what all commands have in
// common, are in cmd/internal/tool, whose documentation says how a command is made; the
// program in cmd/tool/flagstaff has these alone. All others are here: a command is one file
// with one method of program, and a line in more (program.go). A command against a server
// has the flags of remote, whose client (package cmd/internal/api) connect makes. Every
// command has a row in TestWrongUses for each way to call it wrongly, and a test that runs
// the program as a process, also the ones that the other program has.
package main
