// Flagstaff is the tool for people who write Go code with flags, without the server: the
// program of this name in cmd/flagstaff has the same commands and more. This one is for a
// go.mod, to which it adds few modules:
//
//	go get -tool github.com/flagstaff-go/flagstaff/cmd/tool/flagstaff
//	go tool flagstaff check flags.json                  faults, with their lines
//	go tool flagstaff explain flags.json beta user-1    how a flag gets its value
//	go tool flagstaff diff old.json new.json            for whom a change changes values
//	go tool flagstaff gen -o flags_gen.go flags.json    Go code by which a program asks for flags
//	go tool flagstaff vet -flags flags.json ./...       wrong uses of flags in Go code
//	go tool flagstaff prune -flags flags.json beta      Go code without a flag that is on for all
//	go tool flagstaff help                              all commands
package main
