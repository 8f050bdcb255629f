import JuiceDomain
import JuiceEngine
import JuiceMessages

/// The parameters of one run, drawn from the seed. Each run leaves some faults out, since too many at once hide each other.
struct Scenario {
    let steps: Int
    let partitionCount: Int32
    /// How many partitions an operator adds to each topic, and at which step.
    let enlargements: [Topic: (Int32, step: Int)]
    let instances: [String]
    /// Whether all instances take all partitions for theirs, and are paused in the middle of taking them over.
    let isContended: Bool
    /// The instances of another group on the same topics.
    let rivals: [String]
    let storeCount: Int
    let maxBatch: Int
    var window: DuplicateWindow
    /// The bytes of answers that are at hand: at times so few that nearly all repeats need theirs read back.
    let answerBytes: Int
    let noteInterval: Timestamp
    let longestRead: Int
    let clocks: ClientClocks
    /// The longest time of one step, in milliseconds. In some runs many windows pass, and backlogs grow old.
    var stepTime: Int
    /// The longest leap of the clock, in milliseconds.
    let leapTime: Int
    /// What storage does to the topics.
    let storage: StorageFault?

    // How often, in percent of the steps.
    let command: Double
    let marker: Double
    let delivery: Double
    let crash: Double
    /// The same of crashes: the process is frozen instead, while another takes its name.
    let ghost: Double
    let stop: Double
    let pause: Double
    let rebalance: Double
    /// What a group must not do but may: forget its offsets or its members, assign partitions twice.
    let groupTrouble: Double
    let outage: Double
    let leaderLoss: Double
    let timeOut: Double
    let compaction: Double
    let leap: Double
    /// The arrival of a request that was resent, or of a group's offsets.
    let lateArrival: Double
    // The same of a worker's steps.
    let fault: Double
    let lostDelivery: Double
    /// Where a worker is paused more often than elsewhere, and how often.
    let pausePoint: SimulatedLog.Point?
    let pauseThere: Double

    // In percent of the calls.
    let disorder: Double
    let resending: Double

    /// Whether storage may lose commands. Then all are sent where their stores live: what was forwarded and then lost would count
    /// as unanswered, though nobody could know of it. And all answers are read back, so that one of them tells of the loss.
    let isTidy: Bool

    // How often, in percent of the commands.
    let repeated: Double
    let foreign: Double
    let poison: Double

    init(using random: inout SeededGenerator) {
        func rate(_ most: Double) -> Double {
            random.chance(25) ? 0 : Double.random(in: 0...most, using: &random)
        }
        steps = random.number(200...1200)
        isContended = random.chance(15)
        partitionCount = Int32(random.number(1...(isContended ? 2 : 4)))
        storage = random.chance(20) ? StorageFault(steps: steps, using: &random) : nil
        isTidy = storage.map { $0.topic != .stock && ($0.topic != .results || $0.kind == .anew) } ?? false
        var enlargements: [Topic: (Int32, step: Int)] = [:]
        for topic in Topic.allCases where !isTidy && random.chance(25) {
            // In some runs they are added before anyone begins.
            let step = random.chance(25) ? 0 : random.number(0...steps)
            enlargements[topic] = (Int32(random.number(1...4)), step)
        }
        self.enlargements = enlargements
        instances = (1...random.number((isContended ? 3 : 1)...4)).map { "instance-\($0)" }
        rivals = random.chance(5) ? (1...random.number(1...2)).map { "rival-\($0)" } : []
        storeCount = random.number(1...6)
        maxBatch = random.number(1...12)
        let age = Timestamp(random.pick([500, 5_000, 60_000, 3_600_000]) ?? 0)
        let count = random.pick([3, 20, 100, 1_000_000]) ?? 0
        window = isTidy ? .standard : DuplicateWindow(age: age, count: count)
        longestRead = random.number(3...60)
        noteInterval = random.pick([500, 5_000, 86_400_000]) ?? 0
        clocks = ClientClocks(age: window.age, using: &random)
        stepTime = random.pick(isTidy ? [10] : [10, 10, Int(window.age) / 100, Int(window.age) / 10]) ?? 0
        leapTime = random.pick(isTidy ? [10_000] : [10_000, Int(window.age) * 3]) ?? 0
        command = Double(random.number(5...50))
        marker = Double(random.number(5...100))
        delivery = Double(random.number(5...100))
        crash = rate(3)
        ghost = rate(60)
        stop = rate(0.5)
        pause = rate(3)
        rebalance = rate(2)
        groupTrouble = rate(1)
        outage = rate(1)
        leaderLoss = random.chance(70) ? 0 : rate(1)
        timeOut = rate(2)
        compaction = rate(5)
        leap = rate(1)
        lateArrival = Double(random.number(1...30))
        fault = rate(10)
        lostDelivery = rate(2)
        pausePoint = random.pick(isContended ? SimulatedLog.Point.ofTakeovers : SimulatedLog.Point.allCases)
        pauseThere = isContended ? Double(random.number(10...60)) : rate(20)
        disorder = rate(20)
        resending = rate(30)
        repeated = rate(30)
        foreign = isTidy ? 0 : rate(40)
        poison = isTidy ? 0 : rate(8)
        answerBytes = random.pick([0, 600, 4 << 20]) ?? 0
    }
}
