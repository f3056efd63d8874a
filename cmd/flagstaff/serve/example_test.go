package serve_test

import (
	"context"
	"fmt"
	"os"

	"github.com/flagstaff-go/flagstaff/cmd/flagstaff/serve"
)

// A setting that is wrong ends the program before it opens anything.
func ExampleMain_Run() {
	program := serve.Main{
		Name:    "flagstaff serve",
		Args:    []string{"-demo", "-adr", "127.0.0.1:8000"},
		Environ: os.Environ(),
		Stdout:  os.Stdout,
		Stderr:  os.Stdout,
	}
	fmt.Println("exit code", program.Run(context.Background()))
	// Output:
	// flagstaff serve: there is no flag -adr; did you mean -addr HOST:PORT, such as -addr 127.0.0.1:8000?
	// exit code 2
}
