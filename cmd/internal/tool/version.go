package tool

import (
	"context"

	"github.com/urfave/cli/v3"

	"github.com/flagstaff-go/flagstaff/cmd/internal/release"
)

// versionCommand prints which release the program is.
func (p *Program) versionCommand() *cli.Command {
	var asJSON bool
	return &cli.Command{
		Name:        "version",
		Category:    ofMore,
		Usage:       "print the version of the program",
		UsageText:   ProgramName + " version [-json]",
		Description: "Version prints the version of the program, or (devel) if it was built in a checkout.",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "json", Usage: "print the version, the revision of the source, the version of Go and the platform as JSON", Destination: &asJSON},
		},
		Action: func(_ context.Context, cmd *cli.Command) error {
			if _, err := WantArgs(cmd); err != nil {
				return err
			}
			if asJSON {
				return p.JSON(release.Get())
			}
			return p.Print("%s", release.Get())
		},
	}
}
