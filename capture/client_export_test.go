package capture

// ClientVersion is what a Client says as $lib_version.
var ClientVersion = clientVersion

// SeenKey returns the function by which a Client hashes exposures.
func SeenKey() func(distinctID, flag, variant string, enabled bool) uint64 {
	return newSeenTable(1).key
}
