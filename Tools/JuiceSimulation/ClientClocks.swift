import JuiceEngine
import JuiceMaker

/// The clocks of clients: most are right, some are skewed, some return invalid times.
struct ClientClocks {
    // How often, in percent of the commands.
    private let skewed: Double
    private let nonsense: Double
    private let late: Double

    /// The skews of clocks, in milliseconds.
    private let skews: [Timestamp]
    private let longestDelay: Int

    /// - Parameter age: of the duplicate window, in milliseconds; skews and delays are multiples of it.
    init(age: Timestamp, using random: inout SeededGenerator) {
        func rate(_ most: Double) -> Double {
            random.chance(50) ? 0 : Double.random(in: 0...most, using: &random)
        }
        skewed = rate(100)
        nonsense = rate(30)
        late = rate(30)
        let most = Int(age) * 4
        skews = (0..<3).map { _ in Timestamp(random.number(-most...most)) }
        longestDelay = random.chance(50) ? Int(age) / 2 : most
    }

    /// The timestamp of a command that some client sends now.
    func timestamp(at now: Timestamp, using random: inout SeededGenerator) -> Timestamp {
        if random.chance(nonsense) {
            return random.pick([-1, 0, -10_000_000_000_000, .min, .max, now - 700_000_000, now + 1]) ?? 0
        }
        let delay = random.chance(late) ? random.number(0...longestDelay) : random.number(0...3)
        let skew = random.chance(skewed) ? random.pick(skews) ?? 0 : 0
        return now + skew - Timestamp(delay)
    }
}
