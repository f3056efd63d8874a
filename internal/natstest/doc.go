// Package natstest gives tests NATS servers of their own, as processes that they can
// kill and start again.
//
// It starts the program nats-server, or the one whose path FLAGSTAFF_TEST_NATS has. If
// there is none, the test is skipped, or fails if CI is set.
package natstest
