import JuiceClient

/// The names of the environment's variables that are this program's.
enum EnvironmentNames {
    /// Finds a name that begins like a setting's but is none: a mistake that would otherwise go unnoticed.
    static func check(_ names: some Sequence<String>) throws(Failure) {
        let known = Setting.allCases.map(\.environmentName) + [Setting.configEnvironmentName]
        guard let unknown = names.sorted().first(where: { !known.contains($0) && !isServiceLink($0) }) else {
            return
        }
        let question = NearestNames.question(NearestNames.of(unknown, among: known))
        throw Failure(
            .configuration,
            "\(unknown.printable) is set in the environment, but there is no such setting\(question)"
        )
    }

    /// Kubernetes sets such variables for every service of the namespace: JUICE_SERVICE_HOST for one that is called juice,
    /// JUICE_METRICS_PORT_8080_TCP_ADDR for one that is called juice-metrics.
    static func isServiceLink(_ name: String) -> Bool {
        name.wholeMatch(of: /.*_(SERVICE_HOST|SERVICE_PORT(_.*)?|PORT(_[0-9]+_(TCP|UDP|SCTP)(_.*)?)?)/) != nil
    }
}
