import ArgumentParser

/// Where those who run a process look at it.
struct AdminOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Serve /health/live, /health/ready and /metrics there. (default: nowhere)",
            valueName: "host:port"
        )
    )
    var adminHttp: String?
}
