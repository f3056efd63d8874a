// Package tool has what the program flagstaff is without the server: the command line, and
// the commands check, explain, diff, compare, gen, vet and prune. They need no database, no
// broker and no HTTP server; what they ask of a server they ask by HTTP. Two programs are made
// of it: cmd/tool/flagstaff, which has these commands alone and so adds few modules to a
// go.mod, and cmd/flagstaff, which adds its own by Program.More.
//
// # How a command is added
//
// A command is one file with one method of Program that returns a [cli.Command], and a
// line in Commands (root.go). Its Action gets the arguments by WantArgs, which says what
// is wrong with them, and prints by Print, Table or JSON, which make what comes from
// outside fit for a terminal. An error that it returns becomes "flagstaff NAME: …" and
// exit code 1; WrongUsage makes it 2, and ErrFound says that everything is printed. withAdvice
// adds to what a server refuses what can be done. Every command has a description with
// examples, which the help prints as it is. The tests run the whole program as a process,
// so they are in cmd/flagstaff.
package tool
