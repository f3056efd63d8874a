// Package quota counts what organizations use and says when it is enough.
//
//	q, err := quota.New(quota.Config{Store: store, Limit: 1_000_000, Period: quota.Month})
//	…
//	err = q.Load(ctx, organizations...) // what they have used before
//	go q.Run(ctx)                       // exchanges counts with the store
//	…
//	if !q.Take(organization, 1) {
//		// not any more
//	}
//
// A [Quota] is the Quota of package server. [Quota.Take] decides with what this
// process knows and never waits; [Quota.Run] adds to the store what was taken
// since and learns what other processes have counted. All methods are safe for
// concurrent use.
//
// # What is guaranteed
//
// Together, the processes on one store let through at most
//
//	limit + processes × Interval × rate
//
// where rate is how much one of them is asked for per unit of time. One process
// alone lets through exactly the limit. The bound also holds after a start: for
// organizations that were not passed to [Quota.Load], the first exchange tells
// what they have used.
//
// What is denied is not counted. What is taken is counted once: if the store
// fails, it is added when it works again, and meanwhile Take goes on with what is
// known. After an error it may be unknown whether the store has counted. Then
// its counter is read first. If it has grown by the amount or more, that counts
// as done, so that an organization is never charged twice; the amount is
// missing if it was other processes that have counted. Only a store that still
// counts after it was read could count twice.
//
// A process that is killed forgets what it has taken since the last exchange.
//
// # Limits
//
// An organization has the limit that [Quota.SetLimit] has stored for it, or else
// that of the [Config]. Raising it resumes evaluation at once in this process,
// and within one Interval in others.
//
// Counters are about all time, a month or a day ([Period]); at the start of each
// they begin anew.
package quota
