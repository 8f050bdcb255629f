import SeededRandom

/// A disturbance of the service in one round.
enum Deed: CaseIterable {
    case restart, takeover, freeze, restartTwo, crowd, restartBroker, stopBroker, killBroker

    /// Its weight in the random choice.
    private var weight: Int {
        switch self {
        case .restart: 35
        case .takeover, .freeze, .restartTwo: 15
        case .crowd: 15
        case .restartBroker: 5
        case .stopBroker, .killBroker: 15
        }
    }

    /// Chooses a deed at random, by weight.
    static func random(of deeds: [Deed], using random: inout SeededGenerator) -> Deed {
        var draw = Int.random(in: 0..<deeds.reduce(0) { $0 + $1.weight }, using: &random)
        for deed in deeds {
            draw -= deed.weight
            if draw < 0 { return deed }
        }
        return .restart
    }
}
