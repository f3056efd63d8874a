// Typed is a service that asks for its flags by generated code: a misspelt key does not
// compile, and a linter such as exhaustive finds a switch that misses a variant. README.md
// goes through a year with it.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/flagstaff-go/flagstaff"
	"github.com/flagstaff-go/flagstaff/examples/typed/shop"
	"github.com/flagstaff-go/flagstaff/flags"
)

// identify says for whom a request is.
func identify(r *http.Request) *flags.Request {
	return &flags.Request{DistinctID: r.Header.Get("X-User"), Person: []flags.Property{flags.StringProperty("plan", r.Header.Get("X-Plan"))}}
}

// page says how the page of the shop looks for the person of a context.
func page(ctx context.Context) string {
	text := "several pages"
	if shop.NewCheckout.On(ctx) {
		text = "one page"
	}
	if shop.FreeReturns.On(ctx) {
		text += ", free returns"
	} else {
		text += ", returns for " + price(4)
	}
	payload := shop.ButtonPayload.For(ctx)
	switch shop.Button.For(ctx) {
	case shop.ButtonOff, shop.ButtonControl:
		return text + ", a grey button: " + payload.Label
	case shop.ButtonGreen:
		return fmt.Sprintf("%s, a green button: %s, a border of %g", text, payload.Label, payload.Colour.Border)
	}
	return text
}

func price(euros int) string { return fmt.Sprintf("%d €", euros) }

// run answers until ctx ends.
func run(ctx context.Context, listener net.Listener) error {
	client, err := flagstaff.Open(ctx, flagstaff.Config{File: "shop/flags.json"})
	if err := errors.Join(err, client.Check()); err != nil {
		log.Print(err) // the flags have changed since the code was generated; the service works
	}
	home := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprintln(w, page(r.Context())) })
	server := http.Server{Handler: client.Middleware(identify)(home), ReadTimeout: time.Minute}
	context.AfterFunc(ctx, func() { _ = listener.Close() })
	_ = server.Serve(listener) // until the listener is closed; Shutdown waits for requests
	return errors.Join(server.Shutdown(context.Background()), client.Close(context.Background()))
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	listener, err := net.Listen("tcp", "127.0.0.1:8080")
	if err != nil {
		log.Fatal(err)
	}
	log.Print("ended: ", run(ctx, listener))
}
