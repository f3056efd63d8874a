// Package jetstream carries events, and definitions of flags, through NATS
// JetStream, so that some machines can take events in and others store them.
//
// # Events
//
//	Collector ──► Stream.Write ──► stream on disk ──► Consumer.Run ──► Sink.Write
//	any number of machines          nats-server        machines that store
//
// A [Stream] is a capture.Sink: Write returns nil when NATS has acknowledged every
// event, and only then do clients get the answer 200. A [Consumer] passes the events
// on to the next sink, usually a database, which may be slow or down meanwhile.
//
//	conn, err := jetstream.Connect(url)
//	stream, err := jetstream.Open(ctx, jetstream.Config{Conn: conn})
//	collector, err := capture.NewCollector(capture.CollectorConfig{Sink: stream})
//
//	consumer, err := jetstream.NewConsumer(stream, jetstream.ConsumerConfig{Sink: store})
//	go consumer.Run(ctx) // on machines that store; may be the same
//
// # What is promised
//
// An acknowledged event is stored at least once. A sink keeps an event once, however
// often it is written, so in the end the event is stored exactly once. The stream
// keeps it until the Consumer has acknowledged it, which is after Write of the sink
// has returned nil: the stream has no age limit, and when it is full it refuses new
// events instead of discarding old ones. Open refuses a stream with other settings.
// What nats-server has acknowledged survives the end of its process. To survive a
// power cut it needs sync_interval: always in its configuration, or more than one
// replica.
//
// An event that was written before counts as written. The stream recognises it
// within its duplicate window, by project, date, name, distinct ID and UUID (wire.md
// §2.7); the sink recognises it at any time.
//
// # Order
//
// Updates of persons depend on the order of events. One machine at a time stores a
// partition, in the order in which its events were written to the stream. With one
// partition, the default, this is the order of all events, as without a stream.
// Several partitions are stored at the same time, and only the events of each
// distinct ID keep their order: an $identify can overtake events of the anonymous ID
// that it links, and their updates then apply to the person in another order. So use
// several only if one is too slow, which it seldom is, because it is stored in
// batches. Two kinds of events still come late:
//
//   - After a Write that fails, some of its events may be in the stream. When the
//     client sends all of them again, the missing ones come behind others.
//   - An event that the sink refuses is tried again, and then becomes a dead letter, while
//     later ones are stored.
//
// A machine that stores takes every partition that is free. Further machines wait
// and take over: at once after an orderly end, otherwise when Lease and AckWait of the
// [Config] are over, which is within 3 s by default. Leases are in a key-value bucket.
// The order depends neither on leases nor on clocks: a Consumer writes an event only
// when it knows that all earlier ones of the partition were written.
//
// # Clusters
//
// With replicas, an event is on a majority of the servers before it counts as written.
// When the server dies or freezes that leads the stream, the others choose another leader,
// within 4 to 9 s. Meanwhile Write fails with capture.ErrUnavailable. A connection of
// [Connect] leaves a server that does not answer within 5 s.
//
// After such faults, replicas of a durable consumer may disagree for good, and deliver
// nothing more. A Consumer notices within 15 s that the oldest event of a partition stays
// where it is, says so ([Consumer.Ready], [Stats]), and makes the durable consumer anew. That
// one delivers all that the stream has, and the sink knows what was stored before. So do
// not pause a durable consumer: stop the Consumer.
//
// # What cannot be stored
//
// While a sink does not work, a Consumer waits and tries again; nothing is lost and
// nothing is a dead letter. An event that the sink refuses for good, with a
// capture.EventError, becomes a dead letter after some attempts, and a message that
// cannot be decoded does at once: it goes to a second stream with the reason, and the
// others go on. The same happens to an event for which the sink fails without a
// reason, if the sink has stored others of the batch at the same time.
// [Stream.DeadLetters] lists the dead letters, [Stream.Replay] puts one back, and
// [Stream.Discard] deletes one.
//
// # Names
//
// With the default [Config.Name], the stream is flagstaff, and has the subjects
// flagstaff.events.<partition>.<project>. The subjects determine the number of
// partitions for all processes. Durable consumers are writer-<partition>. The stream
// flagstaff-aside has the dead letters, and the bucket flagstaff-leases the
// leases. To use other settings, create any of them beforehand: Open changes nothing
// that exists. To change the number of partitions, stop writing, let the stream
// become empty, and delete it.
//
// # Definitions
//
// [Definitions] is a definitions document in a key-value bucket: one process puts
// it, and Go back ends that evaluate flags themselves load it, without a database or
// a server in between. It is a source.Source for a Loader, and wakes the Loader, so
// that a change is live everywhere within milliseconds. Servers that share a
// PostgreSQL store do not need it, because the database tells them about changes.
//
//	definitions, err := jetstream.OpenDefinitions(ctx, jetstream.DefinitionsConfig{Conn: conn})
//	loader := source.NewLoader(&evaluator, definitions, source.LoaderConfig{Interval: 30 * time.Second})
//	go loader.Run(ctx)
//	go definitions.Watch(ctx, func() { loader.Refresh(ctx) })
//
// # Versions
//
// It works with nats-server 2.9 and later, and Open refuses older ones. It is tested with
// 2.15.
package jetstream
