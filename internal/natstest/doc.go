// Package natstest gives tests NATS servers of their own, as processes that they can
// kill and start again.
//
// It starts nats-server at the version that .ci/go.mod pins, which Go builds once and keeps
// in its cache, or the program whose path FLAGSTAFF_TEST_NATS has. If it cannot be built,
// the test is skipped, or fails if CI is set.
package natstest
