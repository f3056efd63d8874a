package answered_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/flagstaff-go/flagstaff/internal/answered"
)

// TestWriter: what is noted is what the client gets.
func TestWriter(t *testing.T) {
	for _, tt := range []struct {
		name   string
		handle func(http.ResponseWriter)
		status int
		bytes  int64
	}{
		{"nothing", func(http.ResponseWriter) {}, 200, 0},
		{"a body", func(w http.ResponseWriter) { _, _ = io.WriteString(w, "four") }, 200, 4},
		{"a status", func(w http.ResponseWriter) { w.WriteHeader(404) }, 404, 0},
		{"two parts", func(w http.ResponseWriter) {
			w.WriteHeader(503)
			_, _ = io.WriteString(w, "a")
			_, _ = io.WriteString(w, "b")
		}, 503, 2},
		{"a hint before", func(w http.ResponseWriter) { w.WriteHeader(103); w.WriteHeader(201) }, 201, 0},
		{"flushed", func(w http.ResponseWriter) { _ = http.NewResponseController(w).Flush() }, 200, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			client := httptest.NewRecorder()
			w := &answered.Writer{ResponseWriter: client}
			tt.handle(w)
			w.Returned()
			if w.Status != tt.status || w.Bytes != tt.bytes || int64(client.Body.Len()) != tt.bytes {
				t.Errorf("status %d and %d bytes, and the client got %d; want %d and %d", w.Status, w.Bytes, client.Body.Len(), tt.status, tt.bytes)
			}
		})
	}
}
