package memlimit

import (
	"runtime/debug"
	"testing"
	"testing/fstest"
)

func TestContainer(t *testing.T) {
	type files map[string]string
	for _, tt := range []struct {
		name  string
		files files
		want  int64
	}{
		{"no control groups", nil, None},
		{"version 2", files{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "268435456\n"}, 256 << 20},
		{"version 2 without a limit", files{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "max\n"}, None},
		{"a group within a limited one", files{
			"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/memory.max": "max\n",
			"sys/fs/cgroup/a/memory.max": "1048576\n", "sys/fs/cgroup/memory.max": "4194304\n",
		}, 1 << 20},
		{"the name outside of the container", files{"proc/self/cgroup": "0::/docker/12:34\n", "sys/fs/cgroup/memory.max": "1048576\n"}, 1 << 20},
		{"version 1", files{
			"proc/self/cgroup": "5:cpu,cpuacct:/x\n4:memory:/x\n0::/\n",
			"sys/fs/cgroup/memory/x/memory.limit_in_bytes":      "2097152\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes":        "9223372036854771712\n",
			"sys/fs/cgroup/cpu,cpuacct/memory.limit_in_bytes":   "1\n",
			"sys/fs/cgroup/memory/x/memory.soft_limit_in_bytes": "1\n",
		}, 2 << 20},
		{"version 1 without a limit", files{"proc/self/cgroup": "4:memory:/\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}, None},
		{"rubbish", files{"proc/self/cgroup": "x\n0::\n", "sys/fs/cgroup/memory.max": "-1"}, None},
		{"a name that climbs", files{"proc/self/cgroup": "0::/../../x\n", "sys/fs/cgroup/memory.max": "1048576"}, 1 << 20},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root := make(fstest.MapFS)
			for name, text := range tt.files {
				root[name] = &fstest.MapFile{Data: []byte(text)}
			}
			if got := limitBelow(root); got != tt.want {
				t.Errorf("%d, want %d", got, tt.want)
			}
		})
	}
}

// TestProcess: the limit of the runtime comes before the container's.
func TestProcess(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(before)
	debug.SetMemoryLimit(3 << 30)
	if got := Process(); got != 3<<30 {
		t.Errorf("%d, want the runtime's limit", got)
	}
	debug.SetMemoryLimit(None)
	if got := Process(); got != Container() {
		t.Errorf("%d without a limit of the runtime, want the container's, %d", got, Container())
	}
}
