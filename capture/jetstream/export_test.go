package jetstream

// What tests of the encoding and the subjects look into.
var (
	AppendEvent     = appendEvent
	DecodeEvent     = decodeEvent
	AppendMessageID = appendMessageID
	Partition       = partition
)
