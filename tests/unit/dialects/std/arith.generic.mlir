"builtin.module"() ({
  "func.func"() <{function_type = (i32, i64, index, f32, f64, i1, vector<4xi32>, vector<4xf32>, tensor<4xi32>, tensor<?xf32>, f16, f8E8M0FNU, vector<4xi1>, f4E2M1FN, vector<[4]xi32>) -> (), sym_name = "f"}> ({
  ^bb0(%arg0: i32, %arg1: i64, %arg2: index, %arg3: f32, %arg4: f64, %arg5: i1, %arg6: vector<4xi32>, %arg7: vector<4xf32>, %arg8: tensor<4xi32>, %arg9: tensor<?xf32>, %arg10: f16, %arg11: f8E8M0FNU, %arg12: vector<4xi1>, %arg13: f4E2M1FN, %arg14: vector<[4]xi32>):
    %0 = "arith.constant"() <{value = 1 : i32}> : () -> i32
    %1 = "arith.constant"() <{value = true}> : () -> i1
    %2 = "arith.constant"() <{value = -5 : index}> : () -> index
    %3 = "arith.constant"() <{value = 1.500000e+00 : f32}> : () -> f32
    %4 = "arith.constant"() <{value = dense<[1, 2, 3, 4]> : vector<4xi32>}> : () -> vector<4xi32>
    %5 = "arith.constant"() <{value = dense<0.000000e+00> : tensor<4x4xf32>}> : () -> tensor<4x4xf32>
    %6 = "arith.constant"() <{value = 7 : i8}> {foo} : () -> i8
    %7 = "arith.constant"() <{value = 0x7FC00000 : f32}> : () -> f32
    %8 = "arith.addi"(%arg0, %arg0) <{overflowFlags = #arith.overflow<none>}> : (i32, i32) -> i32
    %9 = "arith.addi"(%arg0, %arg0) <{overflowFlags = #arith.overflow<nsw>}> : (i32, i32) -> i32
    %10 = "arith.addi"(%arg0, %arg0) <{overflowFlags = #arith.overflow<nsw, nuw>}> {foo} : (i32, i32) -> i32
    %11 = "arith.addi"(%arg6, %arg6) <{overflowFlags = #arith.overflow<none>}> : (vector<4xi32>, vector<4xi32>) -> vector<4xi32>
    %12 = "arith.addi"(%arg8, %arg8) <{overflowFlags = #arith.overflow<none>}> : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
    %13:2 = "arith.addui_extended"(%arg0, %arg0) : (i32, i32) -> (i32, i1)
    %14:2 = "arith.addui_extended"(%arg6, %arg6) : (vector<4xi32>, vector<4xi32>) -> (vector<4xi32>, vector<4xi1>)
    %15:2 = "arith.mulsi_extended"(%arg0, %arg0) : (i32, i32) -> (i32, i32)
    %16:2 = "arith.mului_extended"(%arg0, %arg0) : (i32, i32) -> (i32, i32)
    %17 = "arith.subi"(%arg2, %arg2) <{overflowFlags = #arith.overflow<none>}> : (index, index) -> index
    %18 = "arith.muli"(%arg0, %arg0) <{overflowFlags = #arith.overflow<nuw>}> : (i32, i32) -> i32
    %19 = "arith.divsi"(%arg0, %arg0) : (i32, i32) -> i32
    %20 = "arith.divui"(%arg0, %arg0) : (i32, i32) -> i32
    %21 = "arith.ceildivsi"(%arg0, %arg0) : (i32, i32) -> i32
    %22 = "arith.ceildivui"(%arg0, %arg0) : (i32, i32) -> i32
    %23 = "arith.floordivsi"(%arg0, %arg0) : (i32, i32) -> i32
    %24 = "arith.remsi"(%arg0, %arg0) : (i32, i32) -> i32
    %25 = "arith.remui"(%arg0, %arg0) : (i32, i32) -> i32
    %26 = "arith.andi"(%arg0, %arg0) : (i32, i32) -> i32
    %27 = "arith.ori"(%arg0, %arg0) : (i32, i32) -> i32
    %28 = "arith.xori"(%arg0, %arg0) : (i32, i32) -> i32
    %29 = "arith.shli"(%arg0, %arg0) <{overflowFlags = #arith.overflow<nsw>}> : (i32, i32) -> i32
    %30 = "arith.shrsi"(%arg0, %arg0) <{isExact}> : (i32, i32) -> i32
    %31 = "arith.shrui"(%arg0, %arg0) : (i32, i32) -> i32
    %32 = "arith.maxsi"(%arg0, %arg0) : (i32, i32) -> i32
    %33 = "arith.maxui"(%arg0, %arg0) : (i32, i32) -> i32
    %34 = "arith.minsi"(%arg0, %arg0) : (i32, i32) -> i32
    %35 = "arith.minui"(%arg0, %arg0) : (i32, i32) -> i32
    %36 = "arith.addf"(%arg3, %arg3) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32
    %37 = "arith.addf"(%arg3, %arg3) <{fastmath = #arith.fastmath<nnan,contract>}> : (f32, f32) -> f32
    %38 = "arith.subf"(%arg7, %arg7) <{fastmath = #arith.fastmath<fast>}> {foo} : (vector<4xf32>, vector<4xf32>) -> vector<4xf32>
    %39 = "arith.mulf"(%arg9, %arg9) <{fastmath = #arith.fastmath<none>}> : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
    %40 = "arith.divf"(%arg3, %arg3) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32
    %41 = "arith.remf"(%arg3, %arg3) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32
    %42 = "arith.negf"(%arg3) <{fastmath = #arith.fastmath<none>}> : (f32) -> f32
    %43 = "arith.negf"(%arg3) <{fastmath = #arith.fastmath<fast>}> : (f32) -> f32
    %44 = "arith.maximumf"(%arg3, %arg3) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32
    %45 = "arith.maxnumf"(%arg3, %arg3) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32
    %46 = "arith.minimumf"(%arg3, %arg3) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32
    %47 = "arith.minnumf"(%arg3, %arg3) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32
    %48 = "arith.extsi"(%arg0) : (i32) -> i64
    %49 = "arith.extui"(%arg5) : (i1) -> i32
    %50 = "arith.extf"(%arg3) : (f32) -> f64
    %51 = "arith.extf"(%arg7) : (vector<4xf32>) -> vector<4xf64>
    %52 = "arith.trunci"(%arg1) <{overflowFlags = #arith.overflow<none>}> : (i64) -> i32
    %53 = "arith.trunci"(%arg1) <{overflowFlags = #arith.overflow<nsw>}> : (i64) -> i32
    %54 = "arith.truncf"(%arg4) : (f64) -> f32
    %55 = "arith.truncf"(%arg4) <{roundingmode = 0 : i32}> : (f64) -> f32
    %56 = "arith.truncf"(%arg4) <{fastmath = #arith.fastmath<fast>, roundingmode = 1 : i32}> : (f64) -> f32
    %57 = "arith.sitofp"(%arg0) : (i32) -> f32
    %58 = "arith.uitofp"(%arg6) : (vector<4xi32>) -> vector<4xf32>
    %59 = "arith.fptosi"(%arg3) : (f32) -> i32
    %60 = "arith.fptoui"(%arg7) : (vector<4xf32>) -> vector<4xi32>
    %61 = "arith.index_cast"(%arg2) : (index) -> i32
    %62 = "arith.index_cast"(%arg6) : (vector<4xi32>) -> vector<4xindex>
    %63 = "arith.index_castui"(%arg0) : (i32) -> index
    %64 = "arith.bitcast"(%arg0) : (i32) -> f32
    %65 = "arith.bitcast"(%arg6) : (vector<4xi32>) -> vector<4xf32>
    %66 = "arith.cmpi"(%arg0, %arg0) <{predicate = 0 : i64}> : (i32, i32) -> i1
    %67 = "arith.cmpi"(%arg6, %arg6) <{predicate = 6 : i64}> {foo} : (vector<4xi32>, vector<4xi32>) -> vector<4xi1>
    %68 = "arith.cmpf"(%arg3, %arg3) <{fastmath = #arith.fastmath<none>, predicate = 1 : i64}> : (f32, f32) -> i1
    %69 = "arith.cmpf"(%arg7, %arg7) <{fastmath = #arith.fastmath<fast>, predicate = 13 : i64}> : (vector<4xf32>, vector<4xf32>) -> vector<4xi1>
    %70 = "arith.select"(%arg5, %arg3, %arg3) : (i1, f32, f32) -> f32
    %71 = "arith.select"(%arg5, %arg7, %arg7) : (i1, vector<4xf32>, vector<4xf32>) -> vector<4xf32>
    %72 = "arith.select"(%arg12, %arg7, %arg7) : (vector<4xi1>, vector<4xf32>, vector<4xf32>) -> vector<4xf32>
    %73 = "arith.select"(%arg5, %arg8, %arg8) {foo} : (i1, tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
    %74 = "arith.scaling_extf"(%arg13, %arg11) : (f4E2M1FN, f8E8M0FNU) -> f32
    %75 = "arith.scaling_truncf"(%arg3, %arg11) : (f32, f8E8M0FNU) -> f4E2M1FN
    %76 = "arith.scaling_truncf"(%arg3, %arg11) <{fastmath = #arith.fastmath<fast>, roundingmode = 0 : i32}> : (f32, f8E8M0FNU) -> f4E2M1FN
    %77 = "arith.extf"(%arg3) <{fastmath = #arith.fastmath<fast>}> : (f32) -> f64
    %78 = "arith.addi"(%arg14, %arg14) <{overflowFlags = #arith.overflow<none>}> : (vector<[4]xi32>, vector<[4]xi32>) -> vector<[4]xi32>
    %79 = "arith.cmpi"(%arg14, %arg14) <{predicate = 2 : i64}> : (vector<[4]xi32>, vector<[4]xi32>) -> vector<[4]xi1>
    %80 = "arith.divsi"(%arg0, %arg0) <{isExact}> : (i32, i32) -> i32
    %81 = "arith.cmpi"(%arg0, %arg0) <{predicate = 5 : i64}> : (i32, i32) -> i1
    %82 = "arith.bitcast"(%arg10) : (f16) -> bf16
    "func.return"() : () -> ()
  }) : () -> ()
}) : () -> ()
