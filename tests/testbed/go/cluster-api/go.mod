// Cluster API: its CRDs, and the controllers of testbeds that run it. With the versions of its own go.mod: its core builds with
// controller-runtime 0.24, too, but stopped reconciling after two minutes.
module stackflux.testbed/cluster-api

go 1.26.0

require (
	sigs.k8s.io/cluster-api v1.13.4
	sigs.k8s.io/cluster-api/test v1.13.4
)
