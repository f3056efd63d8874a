package source

// StreamPause is streamPause, for tests.
var StreamPause = streamPause
