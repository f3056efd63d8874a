// Package soak has a program that loads servers, hurts them, and checks what they said:
// requests for flags while definitions change, events, management and local evaluation,
// while processes, the database and the stream are killed, paused and starved.
//
//	go test ./soak -v -soak 2m -timeout 10m        # in the folder examples
//	go test ./soak -v -soak 1h -timeout 2h -old /path/to/an/older/flagstaff
//
// It stops with the exit code 1 if an acknowledged event is lost or stored twice, if an
// answer is none that the reference evaluator gives for the definitions in force, if a
// server does not recover, or if goroutines or memory grow. Without -soak it is skipped.
//
// A second program takes the leader of the stream away again and again, and prints how long
// that is felt:
//
//	go test ./soak -v -run Failover -failovers 4 -timeout 30m
//
// README.md says what they do, and has their figures.
package soak
