package jetstream_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"

	"github.com/flagstaff-go/flagstaff/capture/jetstream"
	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/source"
	"github.com/flagstaff-go/flagstaff/internal/natstest"
)

// document has one flag that is for everybody, or nobody.
func document(percentage int) []byte {
	return fmt.Appendf(nil, `{"flags":[{"id":1,"key":"beta","active":true,"filters":{"groups":[{"rollout_percentage":%d}]}}]}`, percentage)
}

func definitions(t testing.TB, url string) *jetstream.Definitions {
	t.Helper()
	d, err := jetstream.OpenDefinitions(t.Context(), jetstream.DefinitionsConfig{Conn: connect(t, url)})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestDefinitions: a change in one process is live in another, also after the
// server was away.
func TestDefinitions(t *testing.T) {
	t.Parallel()
	srv := natstest.Start(t)
	put, follow := definitions(t, srv.URL()), definitions(t, srv.URL())
	if _, _, err := follow.Load(t.Context(), ""); err == nil || !strings.Contains(err.Error(), "no definitions") {
		t.Errorf("Load = %v before the first Put, want an error that says so", err)
	}
	var e flags.Evaluator
	loader := source.NewLoader(&e, follow, source.LoaderConfig{Interval: time.Hour})
	ctx, cancel := context.WithCancel(t.Context())
	watched := make(chan error, 1)
	go func() {
		watched <- follow.Watch(ctx, func() {
			_ = loader.Refresh(ctx) // there may be nothing yet
		})
	}()
	on := func() bool { return e.Bool("beta", &flags.Request{DistinctID: "u"}, false) }
	version, err := put.Put(t.Context(), document(100))
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the flag", on)
	if got := loader.Status().Version; got != version {
		t.Errorf("version %q is loaded, want %q", got, version)
	}
	if _, _, err := put.Load(t.Context(), version); !errors.Is(err, source.ErrNotModified) {
		t.Errorf("Load = %v of what one has, want %v", err, source.ErrNotModified)
	}

	srv.Stop()
	if err := loader.Refresh(t.Context()); err == nil {
		t.Error("Refresh = nil without a server")
	}
	if !on() {
		t.Error("the flag is gone with the server")
	}
	srv.Run(t)
	eventually(t, "a Put", func() bool { version, err = put.Put(t.Context(), document(0)); return err == nil })
	eventually(t, "the change", func() bool { return !on() })

	if _, err := put.Put(t.Context(), []byte(`{"flags":`)); err == nil {
		t.Error("Put takes half a document")
	}
	if _, got, err := put.Load(t.Context(), ""); err != nil || got != version {
		t.Errorf("Load = version %q, %v; want %q: what was refused must not replace", got, err, version)
	}
	cancel()
	if err := <-watched; err != nil {
		t.Errorf("Watch = %v, want nil", err)
	}
}

// TestForeignDefinitions: a value that is none of ours is an error, and the last
// good definitions stay.
func TestForeignDefinitions(t *testing.T) {
	t.Parallel()
	srv := natstest.Start(t)
	d := definitions(t, srv.URL())
	bucket, err := js(t, connect(t, srv.URL())).KeyValue(t.Context(), "flagstaff-definitions")
	if err != nil {
		t.Fatal(err)
	}
	for _, value := range []string{"", "rubbish", "\x1f\x8b\x08\x00"} {
		if _, err := bucket.Put(t.Context(), "default", []byte(value)); err != nil {
			t.Fatal(err)
		}
		if _, _, err := d.Load(t.Context(), ""); err == nil || !strings.Contains(err.Error(), `under "default"`) {
			t.Errorf("Load of %q = %v, want an error that says where", value, err)
		}
	}
}

func TestDefinitionsConfig(t *testing.T) {
	t.Parallel()
	conn := connect(t, natstest.Start(t).URL())
	for _, tt := range []struct {
		c    jetstream.DefinitionsConfig
		want string
	}{
		{jetstream.DefinitionsConfig{}, "Conn"},
		{jetstream.DefinitionsConfig{Conn: conn, Bucket: "a b"}, "Bucket"},
		{jetstream.DefinitionsConfig{Conn: conn, Key: ".a"}, "Key"},
		{jetstream.DefinitionsConfig{Conn: conn, Replicas: 6}, "Replicas"},
	} {
		if _, err := jetstream.OpenDefinitions(t.Context(), tt.c); err == nil || !strings.Contains(err.Error(), "DefinitionsConfig."+tt.want) {
			t.Errorf("OpenDefinitions = %v, want an error about %s", err, tt.want)
		}
	}
}

// TestLargeDefinitions: what NATS does not take is an error that says what to do.
func TestLargeDefinitions(t *testing.T) {
	t.Parallel()
	srv := natstest.Start(t, "max_payload: 2000")
	d := definitions(t, srv.URL())
	var list []string
	for i := range 1000 {
		list = append(list, fmt.Sprintf(`{"id":%d,"key":%q,"active":true,"filters":{"groups":[]}}`, i+1, uuid.NewString()))
	}
	if _, err := d.Put(t.Context(), []byte(`{"flags":[`+strings.Join(list, ",")+`]}`)); err == nil || !strings.Contains(err.Error(), "raise max_payload") {
		t.Errorf("Put = %v, want an error about max_payload", err)
	}
}

// TestWatchEnds: with an error if the connection is closed.
func TestWatchEnds(t *testing.T) {
	t.Parallel()
	conn := connect(t, natstest.Start(t).URL())
	d, err := jetstream.OpenDefinitions(t.Context(), jetstream.DefinitionsConfig{Conn: conn})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Watch(t.Context(), conn.Close); !errors.Is(err, nats.ErrConnectionClosed) {
		t.Errorf("Watch = %v, want %v", err, nats.ErrConnectionClosed)
	}
}
