// Package quota counts the usage of organizations and enforces their limits.
//
//	q, err := quota.New(quota.Config{Store: store, Limit: 1_000_000, Period: quota.Month})
//	…
//	err = q.Load(ctx, organizations...) // reads their usage so far
//	go q.Run(ctx)                       // exchanges counts with the store
//	…
//	if !q.Take(organization, 1) {
//		// the limit is reached
//	}
//
// A [Quota] implements the interface Quota of package server. [Quota.Take]
// never waits: it decides by the counts that this process knows. [Quota.Run]
// adds new usage to the store and reads the counts of other processes from it.
// All methods are safe for concurrent use.
//
// # Guarantees
//
// Together, the processes on one store grant at most
//
//	limit + processes × Interval × rate
//
// where rate is the usage per unit of time that is requested from one process.
// A single process grants exactly the limit. The bound also holds after a
// start: an organization that was not passed to [Quota.Load] gets its earlier
// usage with the first exchange.
//
// Denied usage is not counted. Granted usage is counted once: while the store
// fails, Take decides by the counts it knows, and the usage is added when the
// store works again. After an error it may be unknown whether the store has
// counted an amount. In this case its count is read first. If it has grown by
// the amount or more, the amount is taken as counted, so that an organization
// is never charged twice; if it was other processes that made the count grow,
// the amount is lost. An amount could be counted twice only if the store still
// counted it after its count was read.
//
// A process that is killed loses the usage since its last exchange.
//
// # Limits
//
// The limit of an organization is the one that [Quota.SetLimit] has stored for
// it, or else the one of the [Config]. A higher limit takes effect at once in
// the process that sets it, and within one Interval in others.
//
// A counter covers all time, a month or a day ([Period]). It starts from zero
// at the beginning of each.
package quota
