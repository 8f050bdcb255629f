import JuiceDomain
import JuiceEngine
import JuiceMessages

/// The clocks of the instances' machines. In some runs they are wrong by seconds or years, and jump at any time.
///
/// Only brokers that limit the timestamps of records make up for that. Without limits, all clocks are right.
struct InstanceClocks {
    let haveLimits: Bool
    let areWrong: Bool
    private var random: SeededGenerator
    /// How often a clock is set, in percent of the steps.
    private let jump: Double
    /// Possible errors of clocks, in milliseconds.
    private let offsets: [Timestamp]
    private var hasBegun = false

    /// - Parameter age: the age of the duplicate window, in milliseconds.
    init(age: Timestamp, using random: inout SeededGenerator) {
        haveLimits = random.chance(60)
        let areWrong = random.chance(60)
        self.areWrong = haveLimits && areWrong
        jump = random.chance(30) ? 0 : Double.random(in: 0...2, using: &random)
        let hour: Timestamp = 3_600_000
        // A clock that is more than two hours ahead keeps its instance from working.
        let ahead = [1_000, age / 2, hour, 2 * hour - 60_000, 2 * hour - 60_000]
        let behind = [1_000, age / 2, 2 * age, 2 * hour, 72 * hour, 200 * 24 * hour, 19_000 * 24 * hour].map { -$0 }
        offsets = [0, 0] + ahead + behind + behind + (random.chance(20) ? [72 * hour, 200 * 24 * hour] : [])
        self.random = SeededGenerator(seed: random.next())
    }

    /// Sets all clocks at first, and later one of them at times.
    mutating func disturb(_ cluster: SimulatedCluster, of members: [String]) {
        guard areWrong else { return }
        for member in members where !hasBegun || random.chance(jump) {
            cluster.clockOffsets[member] = random.pick(offsets)
            cluster.trace?("\(member): its clock is \(cluster.clockOffsets[member, default: 0]) ms ahead")
        }
        hasBegun = true
    }
}
