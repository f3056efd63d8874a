package graph

import (
	"iter"
	"slices"
)

// Stages sorts nodes, the numbers from 0 to len(needs)-1, by stages
// (evaluation.md §7.2): stage 0 has the nodes that need nothing, and each other
// node is in the stage behind the last one that has something it needs. needs[i]
// are the nodes that node i needs, each once.
//
// Stage 0 is in ascending order. Within another stage nodes come in the order in
// which the last node that they need does. What is on a circle, or needs what is,
// is in no stage but in rest, in ascending order.
func Stages(needs [][]int) (stages [][]int, rest []int) {
	// The nodes that need node i are neededBy[ends[i-1]:ends[i]], ascending.
	ends := make([]int, len(needs)+1)
	for _, list := range needs {
		for _, n := range list {
			ends[n]++
		}
	}
	sum := 0
	for i, count := range ends {
		ends[i] = sum // where the list of i begins
		sum += count
	}
	neededBy := make([]int, sum)
	for i, list := range needs {
		for _, n := range list {
			neededBy[ends[n]] = i
			ends[n]++
		}
	}

	waits := make([]int, len(needs)) // for so many nodes
	order := make([]int, 0, len(needs))
	for i, list := range needs {
		if waits[i] = len(list); waits[i] == 0 {
			order = append(order, i)
		}
	}
	for done := 0; done < len(order); {
		stage := order[done:]
		done = len(order)
		stages = append(stages, stage[:len(stage):len(stage)])
		for _, n := range stage {
			first := 0
			if n > 0 {
				first = ends[n-1]
			}
			for _, i := range neededBy[first:ends[n]] {
				if waits[i]--; waits[i] == 0 {
					order = append(order, i)
				}
			}
		}
	}
	for i, n := range waits {
		if n > 0 {
			rest = append(rest, i)
		}
	}
	return stages, rest
}

// A Step is a node that [Reach] has come to.
type Step[N comparable] struct {
	Node N
	from *Step[N] // nil at the start
}

// Way returns the nodes on the shortest way from a start to the node of the step,
// both included.
func (s *Step[N]) Way() []N {
	var way []N
	for ; s != nil; s = s.from {
		way = append(way, s.Node)
	}
	slices.Reverse(way)
	return way
}

// Reach iterates over some nodes and all that they reach, each once and the nearest
// first. next returns the nodes that a node leads to; it is called when the loop
// goes on after that node.
func Reach[N comparable](start iter.Seq[N], next func(N) iter.Seq[N]) iter.Seq[*Step[N]] {
	return func(yield func(*Step[N]) bool) {
		seen := make(map[N]bool)
		var queue []*Step[N]
		add := func(nodes iter.Seq[N], from *Step[N]) {
			for n := range nodes {
				if !seen[n] {
					seen[n] = true
					queue = append(queue, &Step[N]{n, from})
				}
			}
		}
		add(start, nil)
		for ; len(queue) > 0; queue = queue[1:] {
			if !yield(queue[0]) {
				return
			}
			add(next(queue[0].Node), queue[0])
		}
	}
}
