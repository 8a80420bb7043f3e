// Cluster API, for its CRDs: nothing of it is compiled here.
module stackflux.testbed/cluster-api

go 1.26.0

require (
	sigs.k8s.io/cluster-api v1.13.4
	sigs.k8s.io/cluster-api/test v1.13.4
)
