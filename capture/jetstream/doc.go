// Package jetstream carries events, and definitions of flags, through NATS
// JetStream, so that taking events in and storing them can be done by different
// machines.
//
// # Events
//
//	Collector ──► Stream.Write ──► stream on disk ──► Consumer.Run ──► Sink.Write
//	 any number of machines          nats-server        machines that store
//
// A [Stream] is a capture.Sink: Write returns nil when NATS has acknowledged every
// event, and clients are then answered 200. A [Consumer] passes the events on to
// the next sink, usually a database, which may be slow or down meanwhile.
//
//	conn, err := nats.Connect(url, nats.MaxReconnects(-1))
//	stream, err := jetstream.Open(ctx, jetstream.Config{Conn: conn})
//	collector, err := capture.NewCollector(capture.CollectorConfig{Sink: stream})
//
//	consumer, err := jetstream.NewConsumer(stream, jetstream.ConsumerConfig{Sink: store})
//	go consumer.Run(ctx) // on machines that store; may be the same
//
// # What is promised
//
// An acknowledged event is stored at least once, and since a sink keeps an event
// once however often it is written, exactly once in the end. The stream keeps it
// until the Consumer has acknowledged it, which is after Write of the sink has
// returned nil: it has no age limit, and refuses new events when it is full
// instead of discarding old ones. Open refuses a stream that is configured
// otherwise. What nats-server has acknowledged survives the end of its process;
// to survive a power cut it needs sync_interval: always in its configuration, or
// more than one replica.
//
// An event that was written before counts as written: the stream recognises it
// within its duplicate window, by project, date, name, distinct ID and UUID
// (wire.md §2.7), the sink at any time.
//
// # Order
//
// Updates of persons depend on the order of events. A partition is stored by one
// machine at a time, in the order in which its events were written to the stream.
// With one partition, the default, that is the order of all events, as without a
// stream. With more of them, which are stored at the same time, it is only that
// of the events of each distinct ID: an $identify can overtake events of the
// anonymous ID that it links, and their updates then apply to the person in
// another order. So have more only if one is too slow, which one batch after the
// other seldom is; two kinds of events still come late:
//
//   - After a Write that fails, some of its events may be in the stream. When the
//     client sends them again, those that were not come behind others.
//   - An event that the sink refuses is tried again, and then set aside, while
//     later ones are stored.
//
// A machine that stores takes every partition that is free. Further machines wait
// and take over: at once after an orderly end; otherwise after at most Lease plus
// AckWait of the [Config], 15 s by default. Leases are in a key-value bucket. That
// order is kept does not depend on them or on clocks: a Consumer writes an event
// only when it knows that all earlier ones of the partition were written.
//
// # What cannot be stored
//
// While a sink does not work, a Consumer waits and tries again; nothing is lost
// and nothing set aside. What the sink refuses for good, with a
// capture.EventError, is set aside after some attempts, as is at once what cannot
// be decoded: it goes to a second stream with the reason, and the others go on.
// So does an event for which the sink fails without saying why, if it has stored
// others of the batch at the same time. [Stream.SetAside] lists such messages,
// [Stream.Replay] puts one back, [Stream.Discard] deletes it.
//
// # Names
//
// With the default [Config.Name] the stream is flagstaff, and has the subjects
// flagstaff.events.<partition>.<project>. Its number of partitions is that of its
// subjects; all processes go by it. Durable consumers are writer-<partition>. What
// was set aside is in the stream flagstaff-aside, leases are in the bucket
// flagstaff-leases. Whoever wants other settings creates any of them beforehand:
// Open changes nothing that exists. For another number of partitions, stop
// writing, let the stream become empty, and delete it.
//
// # Definitions
//
// [Definitions] is a definitions document in a key-value bucket: one process puts
// it, and Go back ends that evaluate flags themselves load it, without a database
// or a server in between. It is a source.Source for a Loader, and wakes it, so
// that a change is live everywhere within milliseconds. Servers that share a
// PostgreSQL store need none of it, for the database tells them of changes.
//
//	definitions, err := jetstream.OpenDefinitions(ctx, jetstream.DefinitionsConfig{Conn: conn})
//	loader := source.NewLoader(&evaluator, definitions, source.LoaderConfig{Interval: 30 * time.Second})
//	go loader.Run(ctx)
//	go definitions.Watch(ctx, func() { loader.Refresh(ctx) })
//
// # Versions
//
// It works with nats-server 2.9 and later.
package jetstream
