// Package rawjson has small functions over JSON that is stored or sent as it is. All
// of them are safe for concurrent use.
package rawjson
