// Service is the web service of a shop with six flags; README.md says how to run it.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/flagstaff-go/flagstaff"
	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/geoip"
	"github.com/flagstaff-go/flagstaff/runtime"
)

var ( // the flags, with the values that they have until the definitions are there
	maintenance  = flagstaff.NewBool("maintenance", false)
	newCheckout  = flagstaff.NewBool("new-checkout", false)
	freeShipping = flagstaff.NewBool("free-shipping", false)
	teamOrders   = flagstaff.NewBool("team-orders", false)
	search       = flagstaff.NewVariant("search", "classic", "fuzzy")
	button       = flagstaff.NewPayload("button", label{Text: "Buy", Color: "blue"})
)

type label struct{ Text, Color string } // the payload of the flag button

// identify says for whom a request is. Your service asks its session.
func identify(r *http.Request) *flags.Request {
	return &flags.Request{
		DistinctID: r.Header.Get("X-User"), Groups: map[string]string{"company": r.Header.Get("X-Company")},
		Person: []flags.Property{flags.StringProperty("plan", r.Header.Get("X-Plan"))},
	}
}

func home(w http.ResponseWriter, r *http.Request) {
	ctx := r.Context()
	if maintenance.On(ctx) {
		http.Error(w, "back soon", http.StatusServiceUnavailable)
		return
	}
	json.NewEncoder(w).Encode(map[string]any{
		"new checkout": newCheckout.On(ctx), "free shipping": freeShipping.On(ctx),
		"team orders": teamOrders.On(ctx), "search": search.For(ctx), "button": button.For(ctx),
	})
}

// run answers until ctx ends.
func run(ctx context.Context, listener net.Listener, config flagstaff.Config) error {
	client, err := flagstaff.Open(ctx, config)
	if err := errors.Join(err, client.Check()); err != nil {
		log.Print(err) // the service works all the same
	}
	server := http.Server{Handler: client.Middleware(identify)(http.HandlerFunc(home)), ReadTimeout: time.Minute}
	context.AfterFunc(ctx, func() { _ = listener.Close() })
	_ = server.Serve(listener) // until the listener is closed; Shutdown waits for requests
	return errors.Join(server.Shutdown(context.Background()), client.Close(context.Background()))
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	places, errPlaces := geoip.Open(os.Getenv("GEOIP"), geoip.Options{})
	listener, err := net.Listen("tcp", "127.0.0.1:8080")
	if err := errors.Join(errPlaces, err); err != nil {
		log.Fatal(err)
	}
	go places.Watch(ctx, time.Minute)
	log.Print("ended: ", run(ctx, listener, flagstaff.Config{
		URL: os.Getenv("FLAGS_URL"), ProjectKey: os.Getenv("FLAGS_PROJECT_KEY"), SecretKey: os.Getenv("FLAGS_SECRET_KEY"),
		Cache:  "flags.cache", // to start while the server cannot be reached
		Filter: runtime.Filter{Kind: runtime.Server, Tags: []string{"shop"}}, Web: flagstaff.Web{Locator: places},
	}))
}
