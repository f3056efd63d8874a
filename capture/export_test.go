package capture

// ParseTime is how timestamps are read.
var ParseTime = parseTime
