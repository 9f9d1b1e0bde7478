package weir
import java.nio.file.{Files, Path, Paths, StandardCopyOption}
import java.util.Arrays

import spinal.core._

/** Writes Verilog.
  *
  * {{{
  * weir.Generate <outDir> [preset…|units|<Unit>…|boards|<board>…|formal|reduced|description|all]
  *   <outDir>/<preset>/weir_<preset>.v   a whole core ('-' becomes '_' in file and module names)
  *   <outDir>/units/<Unit>.v             each unit of [[Units.all]]
  *   <outDir>/boards/<board>/<board>.v   the top of each board of [[weir.board.Boards]]
  *   <outDir>/formal/<Name>.sv           each property component of [[Units.formal]]
  *   <outDir>/reduced/<name>/weir_<name>.v   cores that leave policies out, of [[Reduced]]
  *   <outDir>/weir_*.{json,h,c,md,py}    registers, trace records and policies for software and people; written with
  *                                       every core, or by themselves (description)
  *   <outDir>/compact/<program>.lst      listings of the compact policies' programs, likewise
  * }}}
  * `all` (the default) is every preset, the units, the boards, and the cores of [[Reduced.run]]. The output depends on the sources only:
  * no dates, no random values. Ports are `clk` and `rst` (synchronous, active high) in every file
  * but those of boards. The names of all modules of a file begin with that of its top.
  */
object Generate {
  /** A request that cannot be met; the message is one line for the person who typed it. */
  private class UsageError(message: String) extends Exception(message)

  private val groups = Seq("units", "boards", "formal", "reduced", "description", "all")

  def main(args: Array[String]): Unit =
    try run(args.toSeq)
    catch {
      case e: UsageError =>
        System.err.println(s"weir.Generate: ${e.getMessage}")
        sys.exit(2)
    }

  private def run(args: Seq[String]): Unit = {
    val out = Paths.get(args.headOption.getOrElse(
      throw new UsageError("usage: weir.Generate <outDir> [preset…|units|boards|formal|reduced|description|all]")))
    val wanted = if (args.size > 1) args.tail else Seq("all")
    val names = WeirConfig.presets.map(_.name)
    val others = groups ++ Units.all.map(_._1) ++ board.Boards.all.map(_._1)
    wanted.filterNot(w => names.contains(w) || others.contains(w)).foreach(w => throw new UsageError(
      s"'$w' is not a preset; choose from ${names.mkString(", ")} or ${groups.mkString(", ")}"))

    val all = wanted.contains("all")
    val presets = WeirConfig.presets.filter(p => all || wanted.contains(p.name))
    presets.foreach(core(out, _))
    if (presets.nonEmpty || wanted.contains("description")) description(out)
    units(out.resolve("units"), name => all || wanted.contains("units") || wanted.contains(name))
    boards(out.resolve("boards"), name => all || wanted.contains("boards") || wanted.contains(name))
    if (all) Reduced.run.foreach(core(out.resolve("reduced"), _))
    if (wanted.contains("reduced")) Reduced.elaborated.foreach(core(out.resolve("reduced"), _))
    if (wanted.contains("formal")) formal(out.resolve("formal"))
  }

  private def description(out: Path): Unit = {
    control.registers.RegisterExport.write(out.toFile)
    control.trace.TraceExport.write(out.toFile)
    control.registers.PolicyExport.write(out.toFile)
    policy.compact.Listing.write(out.resolve("compact"), policy.compact.Programs())
  }

  private def core(out: Path, c: WeirConfig): Unit = {
    val module = s"weir_${c.name.replace('-', '_')}"
    write(out.resolve(c.name), module, "v")(config => config.generateVerilog(clocked(module, new WeirCore(c))))
  }

  private def units(directory: Path, wanted: String => Boolean): Unit = for ((name, make) <- Units.all if wanted(name))
    write(directory, name, "v")(config => config.generateVerilog(clocked(name, make())))

  private def boards(directory: Path, wanted: String => Boolean): Unit = for ((name, make) <- board.Boards.all if wanted(name)) {
    val module = name.replace('-', '_')
    write(directory.resolve(name), module, "v")(config => config.generateVerilog(make().setDefinitionName(module)))
  }

  private def formal(directory: Path): Unit = for ((name, make) <- Units.formal)
    write(directory, name, "sv")(config => config.includeFormal.generateSystemVerilog(clocked(name, make())))

  /** Builds `make` as the top module `name` in a clock domain with ports `clk` and `rst`. */
  private def clocked[T <: Component](name: String, make: => T): T = {
    ClockDomain.current.reset.setName("rst")
    make.setDefinitionName(name)
  }

  /** Generates the file of the top module `top`, whose other modules are called `<top>_…`: several such files can be
    * compiled together. What is there already stays untouched if nothing changed, so that nothing is built again.
    */
  private def write(directory: Path, top: String, ending: String)(generate: SpinalConfig => Unit): Unit = {
    val scratch = Files.createTempDirectory("weir")
    generate(Naming(SpinalConfig(
      targetDirectory = scratch.toString,
      netlistFileName = s"$top.$ending",
      globalPrefix = s"${top}_",
      defaultConfigForClockDomains = ClockDomainConfig(resetKind = SYNC, resetActiveLevel = HIGH),
      headerWithDate = false,
      headerWithRepoHash = false,
      noRandBoot = true,
      inlineRom = true,
      cutLongExpressions = false
    )))
    Files.createDirectories(directory)
    scratch.toFile.listFiles.sorted.foreach { made =>
      val target = directory.resolve(made.getName)
      val same = Files.exists(target) && Arrays.equals(Files.readAllBytes(target), Files.readAllBytes(made.toPath))
      if (same) made.delete() else Files.move(made.toPath, target, StandardCopyOption.REPLACE_EXISTING)
    }
    Files.delete(scratch)
  }
}
