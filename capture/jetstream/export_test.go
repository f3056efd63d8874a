package jetstream

import "time"

// What tests of the encoding and the subjects look into.
var (
	AppendEvent     = appendEvent
	DecodeEvent     = decodeEvent
	AppendMessageID = appendMessageID
	Partition       = partition
)

// SetStalledAfter sets after what time a consumer that delivers nothing is made anew. It is
// to be called before a Consumer of the stream runs.
func (s *Stream) SetStalledAfter(d time.Duration) { s.stalledAfter = d }
