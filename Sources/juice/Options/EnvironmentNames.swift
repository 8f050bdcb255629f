import JuiceClient

/// The names of this program's environment variables.
enum EnvironmentNames {
    /// Reports an unknown variable with the prefix of a setting: a typo would otherwise go unnoticed.
    static func check(_ names: some Sequence<String>) throws(Failure) {
        let known = Setting.allCases.map(\.environmentName) + [Setting.configEnvironmentName]
        guard let unknown = names.sorted().first(where: { !known.contains($0) && !isServiceLink($0) }) else { return }
        let question = NearestNames.question(NearestNames.of(unknown, among: known))
        throw Failure(.configuration, "\(unknown.printable) is set in the environment, but there is no such setting\(question)")
    }

    /// Whether Kubernetes sets a variable of this name. It does so for every service of a namespace: JUICE_SERVICE_HOST
    /// for a service named juice, JUICE_METRICS_PORT_8080_TCP_ADDR for one named juice-metrics.
    static func isServiceLink(_ name: String) -> Bool {
        name.wholeMatch(of: /.*_(SERVICE_HOST|SERVICE_PORT(_.*)?|PORT(_[0-9]+_(TCP|UDP|SCTP)(_.*)?)?)/) != nil
    }
}
