package text

import (
	"fmt"
	"runtime"
)

// OfPanic describes the value of a panic for a log. Errors of the Go runtime quote no data;
// of any other value it tells only the type.
func OfPanic(v any) string {
	if err, ok := v.(runtime.Error); ok {
		return err.Error()
	}
	return fmt.Sprintf("%T", v)
}
