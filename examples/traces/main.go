// Traces is examples/server with traces: whatever the standalone server does for a request
// is a span of OpenTelemetry.
//
//	go run ./examples/traces -demo
//
// It takes the global provider, which makes no spans until a program sets one. A program
// of your own sets it with the SDK and an exporter, such as the one for OTLP over HTTP:
//
//	exporter, err := otlptracehttp.New(ctx) // OTEL_EXPORTER_OTLP_ENDPOINT says where to
//	if err != nil {
//		log.Fatal(err)
//	}
//	provider := trace.NewTracerProvider(trace.WithBatcher(exporter))
//	defer provider.Shutdown(context.WithoutCancel(ctx))
//	tracing := otel.New(otel.Options{Tracers: provider})
package main

import (
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/flagstaff-go/flagstaff/cmd/flagstaff/serve"
	"github.com/flagstaff-go/flagstaff/server/otel"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	program := serve.Main{
		Name: filepath.Base(os.Args[0]), Args: os.Args[1:], Environ: os.Environ(),
		Stdout: os.Stdout, Stderr: os.Stderr,
		Tracing: otel.New(otel.Options{Public: true}),
	}
	os.Exit(program.Run(ctx))
}
