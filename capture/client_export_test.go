package capture

// ClientVersion is what a Client says as $lib_version.
var ClientVersion = clientVersion
